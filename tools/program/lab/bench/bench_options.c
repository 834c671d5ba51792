// Parses the command line of a benchmark.
#include "lab/bench/bench_options.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "command/model_path.h"
#include "command/precision.h"
#include "lab/bench/bench.h"
#include "output/visible_text.h"

#define GO_ON (-1)
#define MAX_SETTINGS 8

// What the command line of a benchmark says.
typedef struct command_line {
    vkf_bench_options options;
    const vkf_bench_spec *spec;
    int (*run)(const vkf_bench_options *options, const vkf_bench_spec *spec);
    // From here on it is not combined yet.
    vkf_bench_shape single; // given by options
    bool single_given;
    const char *shapes_path;
    char **arguments; // shapes and the model's directory
    int argument_count;
} command_line;

static const char common_help[] =
    "Measuring:\n"
    "  --types LIST       f32 (default), f16, or f32/f16 and f32/bf16 (activations f32, weights in 16\n"
    "                     bits), with commas between\n"
    "  --dtype TYPE       one of them\n"
    "  --shapes FILE      more shapes from a file, some on each line; # begins a comment\n"
    "  --repetitions N    measured runs (default 20)\n"
    "  --warmup N         runs before them, at least (default 3)\n"
    "  --settle SECONDS   warm up until the device's clock has settled, so long at most (default:\n"
    "                     " VKF_SETTLE_HELP "; 0 does not)\n"
    "  -o, --output FORM  table (default), json (one array), jsonl (an object per line), csv or md\n"
    "  --json             the same as -o jsonl\n"
    "  --no-roof          do not measure the device's roofs first\n"
    "  --watch            stay, and at each save of a shader in --shader-dir measure the edited kernels and\n"
    "                     the last good ones in turn, side by side; Ctrl-C ends (table, json and jsonl alone)\n"
    "  --watch-runs N     end after N saves\n"
    "\n"
    "Weights and inputs are random. gpu is the time between timestamps on the device, wall that of a whole\n"
    "call, submission and waiting included. Rates are of the median gpu time, or of the median wall time\n"
    "where the device has no timestamps. iqr is the distance between the quartiles. Figures are marked\n"
    "(not settled) where runs did not yet take the same time as half a second before.\n"
    "\n"
    "roof is the least time that the device allows, by its own measured bandwidth and f32 arithmetic, over\n"
    "the measured one: every input read once, every output written once, and no more operations than the\n"
    "mathematics asks for. Work that stays in caches, or runs on matrix units, can have more than 1.\n"
    "\n" VKF_COMMON_HELP;

void vkf_bench_print_common_help(FILE *out)
{
    vkf_print_on(out, "%s", common_help);
}

static void print_help(const void *user)
{
    const command_line *line = user;
    const vkf_bench_spec *spec = line->spec;
    char forms[128];
    vkf_bench_forms_text(&spec->extents, forms, sizeof forms);
    vkf_print("usage: vkformer bench %s%s%s [OPTIONS]\n\n%s\n", spec->name, spec->takes_directory ? " [MODEL]" : "",
              forms[0] ? " SHAPE..." : "", spec->help);
    if (forms[0])
        vkf_print("A SHAPE is %s. Several may follow each other, or stand with commas\n"
                  "between; or one is given by options:\n\n",
                  forms);
    for (uint32_t i = 0; i < spec->extents.count; i++) {
        const vkf_bench_extent *extent = &spec->extents.list[i];
        char fallback[40] = "";
        if (extent->fallback)
            snprintf(fallback, sizeof fallback, ", default %u", extent->fallback);
        else if (extent->fallback_letter)
            snprintf(fallback, sizeof fallback, ", default %c", extent->fallback_letter);
        vkf_print("  --%s %c%s\n", extent->name, extent->letter, fallback);
    }
    if (spec->extents.count > 0)
        putchar('\n');
    vkf_bench_print_common_help(stdout);
}

static const char *type_names(const vkf_bench_spec *spec)
{
    if (spec->block_types)
        return VKF_PRECISION_NAMES ", " VKF_BLOCK_TYPES_NAMES;
    if (spec->f32_activations)
        return spec->mixed_types ? "f32, f32/f16 or f32/bf16" : "f32";
    return spec->mixed_types ? VKF_PRECISION_NAMES : "f32 or f16";
}

// Parses the first `length` bytes of the text; false when this benchmark does not have such types.
static bool take_types(const vkf_bench_spec *spec, const char *text, size_t length, vkf_bench_types *out_types)
{
    vkf_model_precision precision;
    if (spec->block_types && vkf_block_types_from_name(text, length, out_types))
        return true;
    if (!vkf_precision_from_name(text, length, &precision))
        return false;
    *out_types = vkf_types_of_precision(precision);
    if (spec->f32_activations && out_types->activations != VKF_DTYPE_F32)
        return false;
    return spec->mixed_types || out_types->activations == out_types->weights;
}

static bool take_list(const vkf_option *option, const char *text, void *user)
{
    const vkf_bench_spec *spec = ((command_line *)user)->spec;
    vkf_bench_options *options = &((command_line *)user)->options;
    (void)option;
    options->type_count = 0;
    for (const char *rest = text;;) {
        size_t length = strcspn(rest, ",");
        vkf_bench_types types;
        if (options->type_count == VKF_BENCH_MAX_TYPES || !take_types(spec, rest, length, &types)) {
            vkf_print_error("--types: '%.200s' is no list of %s for this benchmark", text, type_names(spec));
            return false;
        }
        options->types[options->type_count++] = types;
        if (rest[length] == '\0')
            return true;
        rest += length + 1;
    }
}

static bool take_dtype(const vkf_option *option, const char *value, void *user)
{
    const vkf_bench_spec *spec = ((command_line *)user)->spec;
    vkf_bench_options *options = &((command_line *)user)->options;
    (void)option;
    options->type_count = 1;
    if (take_types(spec, value, strlen(value), &options->types[0]))
        return true;
    vkf_print_error("--dtype: '%.200s' is not %s, which this benchmark has", value, type_names(spec));
    return false;
}

static bool take_json(const vkf_option *option, const char *value, void *user)
{
    (void)option;
    (void)value;
    ((command_line *)user)->options.format = VKF_ROWS_JSONL;
    return true;
}

static const vkf_option of_all[] = {
    {.name = "dtype", .take = take_dtype},
    {.name = "types", .take = take_list},
    VKF_OPTION_WITHIN(command_line, "repetitions", U32, options.repetitions, 1, 100000),
    VKF_OPTION_WITHIN(command_line, "warmup", U32, options.warmup, 0, 100000),
    VKF_OPTION_WITHIN(command_line, "settle", FLOAT, options.settle_s, 0.0f, VKF_SETTLE_MAX_S),
    VKF_OPTION_ROWS(command_line, options.format),
    {.name = "json", .take = take_json, .kind = VKF_OPTION_SWITCH},
    VKF_OPTION(command_line, "shapes", TEXT, shapes_path),
    VKF_OPTION(command_line, "no-roof", FLAG, options.no_roof),
    VKF_OPTION(command_line, "watch", FLAG, options.watch),
    VKF_OPTION_WITHIN(command_line, "watch-runs", U32, options.watch_runs, 1, 1000000),
};

#define COUNT_OF_ALL (sizeof of_all / sizeof of_all[0])
#define MAX_OPTIONS (COUNT_OF_ALL + VKF_BENCH_MAX_EXTENTS + MAX_SETTINGS + 1)

static void list_options(const vkf_bench_spec *spec, vkf_option out_list[MAX_OPTIONS])
{
    size_t count = COUNT_OF_ALL;
    assert(spec->extents.count <= VKF_BENCH_MAX_EXTENTS && spec->setting_count <= MAX_SETTINGS);
    memcpy(out_list, of_all, sizeof of_all);
    for (uint32_t i = 0; i < spec->extents.count; i++)
        out_list[count++] = (vkf_option){.name = spec->extents.list[i].name,
                                         .kind = VKF_OPTION_U32,
                                         .offset = offsetof(command_line, single.values) + i * sizeof(uint32_t),
                                         .min = 1,
                                         .max = spec->extents.list[i].max,
                                         .given = offsetof(command_line, single_given)};
    for (uint32_t i = 0; i < spec->setting_count; i++) {
        out_list[count] = spec->settings[i];
        out_list[count++].offset += offsetof(command_line, options.settings);
    }
    out_list[count] = (vkf_option){0};
}

static int read_arguments(const command_line *line, vkf_bench_options *options)
{
    const vkf_bench_spec *spec = line->spec;
    for (int i = 0; i < line->argument_count; i++) {
        const char *argument = line->arguments[i];
        bool number = argument[0] >= '0' && argument[0] <= '9';
        if (spec->takes_directory && !number && !options->directory) {
            options->directory = argument;
            if (!vkf_find_model(&options->directory))
                return VKF_EXIT_FAILED;
        } else if (!spec->extents.forms[0]) {
            vkf_print_error("'%.200s': this benchmark takes no arguments beside its options", argument);
            return VKF_EXIT_USAGE;
        } else if (!vkf_bench_shapes_add(&options->shapes, &spec->extents, argument, NULL)) {
            return VKF_EXIT_USAGE;
        }
    }
    return GO_ON;
}

static int read_file(const char *path, const vkf_bench_spec *spec, vkf_bench_options *options)
{
    if (!spec->extents.forms[0]) {
        vkf_print_error("--shapes: this benchmark has no shapes");
        return VKF_EXIT_USAGE;
    }
    switch (vkf_bench_shapes_read(&options->shapes, &spec->extents, path)) {
    case VKF_BENCH_FILE_READ:
        return GO_ON;
    case VKF_BENCH_FILE_MALFORMED:
        return VKF_EXIT_USAGE;
    case VKF_BENCH_FILE_UNREADABLE:
        break;
    }
    return VKF_EXIT_FAILED;
}

static int take_single(command_line *line)
{
    vkf_bench_shapes *shapes = &line->options.shapes;
    shapes->list = malloc(sizeof *shapes->list);
    if (!shapes->list) {
        vkf_print_error("memory is exhausted");
        return VKF_EXIT_FAILED;
    }
    if (!vkf_bench_shape_complete(&line->spec->extents, &line->single))
        return VKF_EXIT_USAGE;
    shapes->list[0] = line->single;
    shapes->count = 1;
    return GO_ON;
}

// Takes the shapes of the arguments, then those of the file. If there are none, it takes the one that the options
// describe.
static int gather_shapes(command_line *line)
{
    const vkf_bench_spec *spec = line->spec;
    vkf_bench_options *options = &line->options;
    int code = read_arguments(line, options);
    if (code == GO_ON && line->shapes_path)
        code = read_file(line->shapes_path, spec, options);
    if (code == GO_ON && line->single_given && options->shapes.count > 0) {
        vkf_print_error("sizes are given by options and as shapes; only one of both is possible");
        return VKF_EXIT_USAGE;
    }
    if (code == GO_ON && options->shapes.count == 0)
        code = take_single(line);
    for (size_t i = 0; code == GO_ON && spec->check && i < options->shapes.count; i++)
        if (!spec->check(options, &options->shapes.list[i]))
            code = VKF_EXIT_USAGE;
    return code;
}

static bool check_watch(vkf_bench_options *options)
{
    if (options->watch_runs > 0 && !options->watch) {
        vkf_print_error("--watch-runs: there is nothing to end without --watch");
        return false;
    }
    if (options->watch && !options->common.shader_dir) {
        vkf_print_error("--watch: which folder? --shader-dir DIR takes the kernels from it, a copy of shaders/");
        return false;
    }
    if (options->watch && (options->format == VKF_ROWS_CSV || options->format == VKF_ROWS_MD)) {
        vkf_print_error("--watch prints comparisons, which are no lines of one table; take -o table, json or jsonl");
        return false;
    }
    // A JSON array would never end.
    if (options->watch && options->format == VKF_ROWS_JSON)
        options->format = VKF_ROWS_JSONL;
    return true;
}

static bool take_arguments(int argc, char **argv, void *user)
{
    command_line *line = user;
    line->arguments = argv + optind;
    line->argument_count = argc - optind;
    return check_watch(&line->options);
}

// Gathers the shapes here, because a file or a model that cannot be read is a failure, not a wrong command line.
static int run(void *user)
{
    command_line *line = user;
    line->options.common.timestamps = true;
    int code = gather_shapes(line);
    return code == GO_ON ? line->run(&line->options, line->spec) : code;
}

int vkf_bench_run_with_options(int argc, char **argv, const vkf_bench_spec *spec,
                               int (*run_bench)(const vkf_bench_options *options, const vkf_bench_spec *spec))
{
    vkf_option own[MAX_OPTIONS];
    const vkf_command command = {own, NULL, take_arguments, print_help, run};
    command_line line = {
        .options = {.repetitions = 20,
                    .warmup = 3,
                    .settle_s = VKF_SETTLE_DEFAULT,
                    .type_count = 1, // f32
                    .settings = {.weights = "best",
                                 .kind = "encoder",
                                 .activation = "relu",
                                 .d_model = 512,
                                 .heads = 8,
                                 .ff = 2048,
                                 .encoder_layers = 6,
                                 .decoder_layers = 6,
                                 .vocab = 8000}},
        .spec = spec,
        .run = run_bench,
    };
    list_options(spec, own);
    int code = vkf_command_run(&command, argc, argv, &line, &line.options.common);
    vkf_bench_shapes_free(&line.options.shapes);
    return code;
}

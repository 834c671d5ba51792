// Parses the options of `vkformer profile`.
#include "profile/profile_options.h"

#include <string.h>

#include "command/command.h"

enum {
    OPT_BATCH = VKF_OPT_OWN,
    OPT_LENGTH,
    OPT_NEW_TOKENS,
    OPT_DTYPE,
    OPT_QUANTIZE,
    OPT_REPETITIONS,
    OPT_WARMUP,
    OPT_SETTLE,
    OPT_NO_ROOF,
    OPT_OVERHEAD,
    OPT_BY,
    OPT_JSON,
    OPT_CSV,
    OPT_TRACE,
    OPT_HTML,
    OPT_CHECK_NUMBERS,
    OPT_DUMP,
    OPT_DIFF,
    OPT_FAIL_ABOVE,
    OPT_KIND,
    OPT_ACTIVATION,
    OPT_COUNTERS,
    OPT_OUTPUT = 'o',
};

static void print_help(const void *user)
{
    (void)user;
    fputs(
        "usage: vkformer profile [OPTIONS] MODEL\n"
        "       vkformer profile [OPTIONS] layer BxLxDxHxF[xS]\n"
        "       vkformer profile --diff BEFORE.json AFTER.json [--fail-above PERCENT]\n"
        "\n"
        "Runs the model in the directory MODEL on random tokens and says what each dispatch takes on the device, how\n"
        "much of the device's roofs it reaches, and what the host does meanwhile. An encoder encodes, other models\n"
        "read a prompt and go on from it. Of a layer with random weights: B sequences of L tokens, d_model D, H "
        "heads,\n"
        "a feed-forward part of width F; a decoder layer's cross attention sees S tokens (L).\n"
        "\n"
        "  --batch B            sequences, default 1\n"
        "  --length L           tokens of each source or prompt, default 32\n"
        "  --new-tokens N       that follow, default 16\n"
        "  --dtype TYPE         " VKF_MODEL_PRECISION_NAMES "; default auto,\n"
        "                       which for a layer is f32\n"
        "  --quantize TYPE      weights of linear layers in blocks: q8 or q4\n"
        "  --kind KIND          of a layer: encoder (default) or decoder\n"
        "  --activation A       of a layer: relu (default) or gelu\n"
        "  --repetitions R      runs that are measured, default 10\n"
        "  --warmup W           runs before them, at least, default 2\n"
        "  --settle SECONDS     warm up until the device's clock has settled, so long at most; default\n"
        "                       " VKF_SETTLE_HELP "\n"
        "  --by WHAT            rows of the table: op (default; over all layers), layer or dispatch\n"
        "  --no-roof            do not measure the roofs\n"
        "  --counters NAMES     count while dispatches run, too: names of the device's counters or their beginnings,\n"
        "                       divided by commas, or all; vkformer info --counters lists them\n"
        "  --overhead           measure runs without profiler and timestamps in turn with the others, too\n"
        "  -o, --output FORM    table (default), json, csv, trace (for ui.perfetto.dev) or html, on standard output\n"
        "  --json FILE, --csv FILE, --trace FILE, --html FILE\n"
        "                       write these beside\n",
        stdout);
    fputs(
        "\n"
        "  --check-numbers      measure nothing: run once, dispatch by dispatch, and print the range of what each has\n"
        "                       written, and the first number that is NaN or infinite, with exit code 3\n"
        "  --dump DIR           measure nothing: run a model once, dispatch by dispatch, and write what each wrote\n"
        "                       into DIR, a file for each submission, under PyTorch's names; DIR is made, or empty\n"
        "\n"
        "  --diff               compare two files of --json: the ratio of each place's GPU time, and whether it is\n"
        "                       beyond noise: more than 2 %, and more than the wider of both quartile ranges\n"
        "  --fail-above P       exit code 3 when the whole, or a place that takes at least 0.5 % of it, is slower by\n"
        "                       more than P percent, beyond noise; default 5\n"
        "\n" VKF_COMMON_HELP,
        stdout);
}

static bool parse_format(const char *text, vkf_profile_format *out_format)
{
    static const char *const names[VKF_PROFILE_FORMATS] = {"table", "json", "csv", "trace", "html"};
    for (int i = 0; i < VKF_PROFILE_FORMATS; i++)
        if (strcmp(text, names[i]) == 0) {
            *out_format = (vkf_profile_format)i;
            return true;
        }
    vkf_print_error("--output: '%.100s' is neither table, json, csv, trace nor html", text);
    return false;
}

static bool parse_by(const char *text, vkf_profile_by *out_by)
{
    if (vkf_profile_by_from_name(text, out_by))
        return true;
    vkf_print_error("--by: '%.100s' is neither op, layer nor dispatch", text);
    return false;
}

// Parses options that only models have.
static bool parse_size(int option, const char *value, vkf_profile_options *options)
{
    vkf_profile_settings *subject = &options->subject;
    options->sized = true;
    switch (option) {
    case OPT_BATCH:
        return vkf_parse_u32("--batch", value, 1, 1u << 16, &subject->batch);
    case OPT_LENGTH:
        return vkf_parse_u32("--length", value, 1, 1u << 20, &subject->length);
    case OPT_NEW_TOKENS:
        return vkf_parse_u32("--new-tokens", value, 1, 1u << 20, &subject->new_tokens);
    default:
        return vkf_parse_quantization("--quantize", value, &subject->quantization);
    }
}

static bool parse_own(int option, const char *value, vkf_profile_options *options)
{
    switch (option) {
    case OPT_BATCH:
    case OPT_LENGTH:
    case OPT_NEW_TOKENS:
    case OPT_QUANTIZE:
        return parse_size(option, value, options);
    case OPT_DTYPE:
        return vkf_parse_model_precision("--dtype", value, &options->subject.precision);
    case OPT_REPETITIONS:
        return vkf_parse_u32("--repetitions", value, 1, VKF_PROFILE_MAX_RUNS, &options->repetitions);
    case OPT_WARMUP:
        return vkf_parse_u32("--warmup", value, 0, 1u << 20, &options->warmup);
    case OPT_SETTLE:
        return vkf_parse_float("--settle", value, 0.0f, VKF_SETTLE_MAX_S, &options->settle_s);
    case OPT_FAIL_ABOVE:
        return vkf_parse_float("--fail-above", value, 0.0f, 1e6f, &options->fail_above);
    case OPT_DUMP:
        return vkf_parse_path("--dump", value, &options->dump_path);
    case OPT_BY:
        return parse_by(value, &options->by);
    case OPT_OUTPUT:
        return parse_format(value, &options->format);
    default:
        return vkf_parse_common(option, value, &options->common);
    }
}

// Takes options that need no parsing.
static bool take_plain(int option, const char *value, vkf_profile_options *options)
{
    switch (option) {
    case OPT_NO_ROOF:
        options->no_roof = true;
        return true;
    case OPT_OVERHEAD:
        options->overhead = true;
        return true;
    case OPT_DIFF:
        options->diff = true;
        return true;
    case OPT_CHECK_NUMBERS:
        options->check_numbers = true;
        return true;
    case OPT_JSON:
        options->files[VKF_PROFILE_AS_JSON] = value;
        return true;
    case OPT_CSV:
        options->files[VKF_PROFILE_AS_CSV] = value;
        return true;
    case OPT_TRACE:
        options->files[VKF_PROFILE_AS_TRACE] = value;
        return true;
    case OPT_KIND:
        options->subject.layer_kind = value;
        options->layered = true;
        return true;
    case OPT_ACTIVATION:
        options->subject.activation = value;
        options->layered = true;
        return true;
    case OPT_COUNTERS:
        options->common.counters = value;
        return true;
    case OPT_HTML:
        options->files[VKF_PROFILE_AS_HTML] = value;
        return true;
    default:
        return false;
    }
}

static bool take_layer(const vkf_profile_options *options, const char *shape, vkf_profile_settings *settings)
{
    if (options->sized || options->dump_path) {
        vkf_print_error("profile layer: --batch, --length, --new-tokens, --quantize and --dump are a model's");
        return false;
    }
    settings->directory = NULL;
    return vkf_profile_layer_parse(shape, settings);
}

static bool take_arguments(int argc, char **argv, void *user)
{
    vkf_profile_options *options = user;
    int count = argc - optind;
    bool layer = !options->diff && count > 0 && strcmp(argv[optind], "layer") == 0;
    if (count != (options->diff || layer ? 2 : 1)) {
        vkf_print_error(options->diff ? "profile --diff takes two files, not %d; see vkformer profile --help"
                        : layer       ? "profile layer takes one shape, not %d; see vkformer profile --help"
                                      : "profile takes a model directory, not %d; see vkformer profile --help",
                        layer ? count - 1 : count);
        return false;
    }
    options->common.timestamps = true;
    options->subject.directory = options->paths[0] = argv[optind];
    options->paths[1] = options->diff ? argv[optind + 1] : NULL;
    if (layer)
        return take_layer(options, argv[optind + 1], &options->subject);
    if (options->layered)
        vkf_print_error("--kind and --activation are a layer's: vkformer profile layer BxLxDxHxF");
    return !options->layered;
}

static bool take_option(int option, const char *value, void *options)
{
    return take_plain(option, value, options) || parse_own(option, value, options);
}

static const struct option long_options[] = {
    VKF_COMMON_LONG_OPTIONS,
    {"batch", required_argument, NULL, OPT_BATCH},
    {"length", required_argument, NULL, OPT_LENGTH},
    {"new-tokens", required_argument, NULL, OPT_NEW_TOKENS},
    {"dtype", required_argument, NULL, OPT_DTYPE},
    {"quantize", required_argument, NULL, OPT_QUANTIZE},
    {"repetitions", required_argument, NULL, OPT_REPETITIONS},
    {"warmup", required_argument, NULL, OPT_WARMUP},
    {"settle", required_argument, NULL, OPT_SETTLE},
    {"no-roof", no_argument, NULL, OPT_NO_ROOF},
    {"overhead", no_argument, NULL, OPT_OVERHEAD},
    {"by", required_argument, NULL, OPT_BY},
    {"output", required_argument, NULL, OPT_OUTPUT},
    {"json", required_argument, NULL, OPT_JSON},
    {"csv", required_argument, NULL, OPT_CSV},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"html", required_argument, NULL, OPT_HTML},
    {"check-numbers", no_argument, NULL, OPT_CHECK_NUMBERS},
    {"dump", required_argument, NULL, OPT_DUMP},
    {"diff", no_argument, NULL, OPT_DIFF},
    {"fail-above", required_argument, NULL, OPT_FAIL_ABOVE},
    {"kind", required_argument, NULL, OPT_KIND},
    {"activation", required_argument, NULL, OPT_ACTIVATION},
    {"counters", required_argument, NULL, OPT_COUNTERS},
    {0},
};

int vkf_profile_run_with_options(int argc, char **argv, int (*run)(void *options))
{
    const vkf_command command = {long_options, "o:", take_option, take_arguments, print_help, run};
    vkf_profile_options options = {
        .subject = {.precision = VKF_MODEL_PRECISION_AUTO,
                    .batch = 1,
                    .new_tokens = 16,
                    .layer_kind = "encoder",
                    .activation = "relu"},
        .repetitions = 10,
        .warmup = 2,
        .settle_s = VKF_SETTLE_DEFAULT,
        .fail_above = 5.0f,
    };
    return vkf_command_run(&command, argc, argv, &options, &options.common);
}

// vkformer profile: what each dispatch of a model's run takes, and how far from the device's roofs it is.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "commands.h"
#include "file_output.h"
#include "json_output.h"
#include "measured_roofs.h"
#include "number_check.h"
#include "options.h"
#include "precision.h"
#include "profile_output.h"
#include "profile_subject.h"
#include "progress.h"
#include "sample_stats.h"

typedef enum output_format {
    OUTPUT_TABLE = 0,
    OUTPUT_JSON,
    OUTPUT_CSV,
    OUTPUT_TRACE,
    OUTPUT_HTML,
    OUTPUT_COUNT
} output_format;

typedef struct profile_options {
    vkf_common_options common;
    vkf_profile_settings subject;
    uint32_t repetitions, warmup;
    bool no_roof, overhead, diff, check_numbers;
    float fail_above; // percent
    vkf_profile_by by;
    output_format format;
    const char *files[OUTPUT_COUNT]; // written beside; NULL: none
    const char *paths[2];            // --diff
} profile_options;

enum {
    OPT_BATCH = VKF_OPT_OWN,
    OPT_LENGTH,
    OPT_NEW_TOKENS,
    OPT_DTYPE,
    OPT_QUANTIZE,
    OPT_REPETITIONS,
    OPT_WARMUP,
    OPT_NO_ROOF,
    OPT_OVERHEAD,
    OPT_BY,
    OPT_JSON,
    OPT_CSV,
    OPT_TRACE,
    OPT_HTML,
    OPT_CHECK_NUMBERS,
    OPT_DIFF,
    OPT_FAIL_ABOVE,
    OPT_OUTPUT = 'o',
};

static void print_help(void)
{
    fputs(
        "usage: vkformer profile [OPTIONS] MODEL\n"
        "       vkformer profile --diff BEFORE.json AFTER.json [--fail-above PERCENT]\n"
        "\n"
        "Runs the model in the directory MODEL on random tokens and says what each dispatch takes on the device, how\n"
        "much of the device's roofs it reaches, and what the host does meanwhile. An encoder encodes, other models\n"
        "read a prompt and go on from it.\n"
        "\n"
        "  --batch B            sequences, default 1\n"
        "  --length L           tokens of each source or prompt, default 32\n"
        "  --new-tokens N       that follow, default 16\n"
        "  --dtype TYPE         " VKF_PRECISION_NAMES "; default f32\n"
        "  --quantize TYPE      weights of linear layers in blocks: q8 or q4\n"
        "  --repetitions R      runs that are measured, default 10\n"
        "  --warmup W           runs before them, default 2\n"
        "  --by WHAT            rows of the table: op (default; over all layers), layer or dispatch\n"
        "  --no-roof            do not measure the roofs\n"
        "  --overhead           measure runs without profiler and timestamps in turn with the others, too\n"
        "  -o, --output FORM    table (default), json, csv, trace (for ui.perfetto.dev) or html, on standard output\n"
        "  --json FILE, --csv FILE, --trace FILE, --html FILE\n"
        "                       write these beside\n"
        "\n"
        "  --check-numbers      measure nothing: run once, dispatch by dispatch, and print the range of what each has\n"
        "                       written, and the first number that is NaN or infinite, with exit code 3\n"
        "\n"
        "  --diff               compare two files of --json: the ratio of each place's GPU time, and whether it is\n"
        "                       beyond noise: more than 2 %, and more than the wider of both quartile ranges\n"
        "  --fail-above P       exit code 3 when the whole, or a place that takes at least 0.5 % of it, is slower by\n"
        "                       more than P percent, beyond noise; default 5\n"
        "\n" VKF_COMMON_HELP,
        stdout);
}

static bool parse_format(const char *text, output_format *out_format)
{
    static const char *const names[OUTPUT_COUNT] = {"table", "json", "csv", "trace", "html"};
    for (int i = 0; i < OUTPUT_COUNT; i++)
        if (strcmp(text, names[i]) == 0) {
            *out_format = (output_format)i;
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

static bool parse_own(int option, const char *value, profile_options *options)
{
    switch (option) {
    case OPT_BATCH:
        return vkf_parse_u32("--batch", value, 1, 1u << 16, &options->subject.batch);
    case OPT_LENGTH:
        return vkf_parse_u32("--length", value, 1, 1u << 20, &options->subject.length);
    case OPT_NEW_TOKENS:
        return vkf_parse_u32("--new-tokens", value, 1, 1u << 20, &options->subject.new_tokens);
    case OPT_DTYPE:
        return vkf_parse_precision("--dtype", value, &options->subject.precision);
    case OPT_QUANTIZE:
        return vkf_parse_quantization("--quantize", value, &options->subject.quantization);
    case OPT_REPETITIONS:
        return vkf_parse_u32("--repetitions", value, 1, VKF_PROFILE_MAX_RUNS, &options->repetitions);
    case OPT_WARMUP:
        return vkf_parse_u32("--warmup", value, 0, 1u << 20, &options->warmup);
    case OPT_FAIL_ABOVE:
        return vkf_parse_float("--fail-above", value, 0.0f, 1e6f, &options->fail_above);
    case OPT_BY:
        return parse_by(value, &options->by);
    case OPT_OUTPUT:
        return parse_format(value, &options->format);
    default:
        return vkf_parse_common(option, value, &options->common);
    }
}

// Options that hold as they are.
static bool take_plain(int option, char *value, profile_options *options)
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
        options->files[OUTPUT_JSON] = value;
        return true;
    case OPT_CSV:
        options->files[OUTPUT_CSV] = value;
        return true;
    case OPT_TRACE:
        options->files[OUTPUT_TRACE] = value;
        return true;
    case OPT_HTML:
        options->files[OUTPUT_HTML] = value;
        return true;
    default:
        return false;
    }
}

static bool take_arguments(int argc, char **argv, profile_options *options)
{
    int count = argc - optind, wanted = options->diff ? 2 : 1;
    if (options->common.help)
        return true;
    if (count != wanted) {
        vkf_print_error(options->diff ? "profile --diff takes two files, not %d; see vkformer profile --help"
                                      : "profile takes a model directory, not %d; see vkformer profile --help",
                        count);
        return false;
    }
    options->subject.directory = options->paths[0] = argv[optind];
    options->paths[1] = options->diff ? argv[optind + 1] : NULL;
    return true;
}

static bool parse(int argc, char **argv, profile_options *options)
{
    static const struct option long_options[] = {
        VKF_COMMON_LONG_OPTIONS,
        {"batch", required_argument, NULL, OPT_BATCH},
        {"length", required_argument, NULL, OPT_LENGTH},
        {"new-tokens", required_argument, NULL, OPT_NEW_TOKENS},
        {"dtype", required_argument, NULL, OPT_DTYPE},
        {"quantize", required_argument, NULL, OPT_QUANTIZE},
        {"repetitions", required_argument, NULL, OPT_REPETITIONS},
        {"warmup", required_argument, NULL, OPT_WARMUP},
        {"no-roof", no_argument, NULL, OPT_NO_ROOF},
        {"overhead", no_argument, NULL, OPT_OVERHEAD},
        {"by", required_argument, NULL, OPT_BY},
        {"output", required_argument, NULL, OPT_OUTPUT},
        {"json", required_argument, NULL, OPT_JSON},
        {"csv", required_argument, NULL, OPT_CSV},
        {"trace", required_argument, NULL, OPT_TRACE},
        {"html", required_argument, NULL, OPT_HTML},
        {"check-numbers", no_argument, NULL, OPT_CHECK_NUMBERS},
        {"diff", no_argument, NULL, OPT_DIFF},
        {"fail-above", required_argument, NULL, OPT_FAIL_ABOVE},
        {0},
    };
    for (int opt; (opt = getopt_long(argc, argv, "o:", long_options, NULL)) != -1;)
        if (!take_plain(opt, optarg, options) && !parse_own(opt, optarg, options))
            return false;
    return take_arguments(argc, argv, options);
}

// Running it -------------------------------------------------------------------------------------------------------

// The same model in a context of its own, without timestamps and profiler.
typedef struct bare {
    vkf_context *context;
    vkf_profile_subject subject;
    double *wall_ns; // (repetitions)
} bare;

static vkf_status bare_begin(const profile_options *options, bare *b)
{
    vkf_common_options common = options->common;
    if (!options->overhead)
        return VKF_OK;
    common.timestamps = false;
    vkf_status status = vkf_open_context(&common, &b->context);
    if (status != VKF_OK)
        return status;
    b->wall_ns = calloc(options->repetitions, sizeof *b->wall_ns);
    if (!b->wall_ns)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    return vkf_profile_subject_begin(b->context, &options->subject, &b->subject);
}

static void bare_end(bare *b)
{
    vkf_profile_subject_end(&b->subject);
    vkf_context_destroy(&b->context);
    free(b->wall_ns);
}

static vkf_status bare_run(const profile_options *options, bare *b, uint32_t repetition)
{
    if (!options->overhead)
        return VKF_OK;
    double started_ms = vkf_now_ms();
    vkf_status status = vkf_profile_subject_run(&b->subject);
    if (repetition >= options->warmup)
        b->wall_ns[repetition - options->warmup] = (vkf_now_ms() - started_ms) * 1e6;
    return status;
}

static vkf_status run_all(const profile_options *options, vkf_profile_subject *subject, vkf_profile_record *record,
                          bare *b)
{
    vkf_progress progress = vkf_progress_start("profiling");
    vkf_status status = VKF_OK;
    uint32_t total = options->warmup + options->repetitions;
    for (uint32_t i = 0; i < total && status == VKF_OK; i++) {
        vkf_progress_show(&progress, i, total, NULL);
        vkf_profile_record_begin(record, i >= options->warmup);
        status = vkf_profile_subject_run(subject);
        vkf_profile_record_end(record);
        if (status == VKF_OK)
            status = bare_run(options, b, i);
    }
    vkf_progress_end(&progress);
    if (status == VKF_OK && record->exhausted)
        status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    if (status != VKF_OK)
        vkf_print_error("the run failed: %s", vkf_status_text(status));
    return status;
}

// Putting it out -----------------------------------------------------------------------------------------------------

static bool write_to(FILE *out, const json_t *document, output_format format, vkf_profile_by by)
{
    json_t *trace = NULL;
    bool done = true;
    switch (format) {
    case OUTPUT_TABLE:
    case OUTPUT_COUNT:
        return vkf_profile_print_table(out, document, by);
    case OUTPUT_CSV:
        vkf_profile_print_csv(out, document);
        return true;
    case OUTPUT_HTML:
        return vkf_profile_print_html(out, document);
    case OUTPUT_TRACE:
        trace = vkf_profile_trace(document);
        done = trace && json_dumpf(trace, out, JSON_COMPACT | JSON_REAL_PRECISION(12)) == 0;
        json_decref(trace);
        break;
    case OUTPUT_JSON:
        done = json_dumpf(document, out, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
        break;
    }
    fputc('\n', out);
    if (!done)
        vkf_print_error("the profile could not be written as JSON");
    return done;
}

static bool write_file(const char *path, const json_t *document, output_format format)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    bool written = stream && write_to(stream, document, format, VKF_PROFILE_BY_OP);
    if (stream)
        written = fclose(stream) == 0 && written;
    bool saved = written && vkf_write_file(path, text, size);
    if (!saved)
        vkf_print_error("'%s' cannot be written: %s", path, strerror(errno));
    free(text);
    return saved;
}

static bool put_out(const profile_options *options, const json_t *document)
{
    bool done = write_to(stdout, document, options->format, options->by);
    for (int i = 0; i < OUTPUT_COUNT; i++)
        if (options->files[i])
            done = write_file(options->files[i], document, (output_format)i) && done;
    return done;
}

static bool report(const profile_options *options, const vkf_context *context, const vkf_profile_subject *subject,
                   const vkf_profile_record *record, const vkf_roofs *roofs, bare *b)
{
    vkf_profile_facts facts = {
        .subject = vkf_profile_subject_json(subject),
        .memory = &subject->plan,
        .roofs = roofs,
        .warmup = options->warmup,
        .untimed_wall_ns = options->overhead ? vkf_median(b->wall_ns, options->repetitions) : -1.0,
    };
    vkf_context_device_info(context, &facts.device);
    json_t *document = vkf_profile_document(record, &facts);
    bool done = document && put_out(options, document);
    json_decref(document);
    return done;
}

static bool profile_in(const profile_options *options, vkf_context *context, vkf_profile_subject *subject,
                       vkf_profile_record *record, bare *b)
{
    vkf_roofs roofs;
    const vkf_profiler profiler = vkf_profile_record_profiler(record);
    return (options->no_roof || vkf_measured_roofs(context, &roofs) == VKF_OK) &&
           vkf_profile_subject_begin(context, &options->subject, subject) == VKF_OK &&
           bare_begin(options, b) == VKF_OK && vkf_context_set_profiler(context, &profiler) == VKF_OK &&
           run_all(options, subject, record, b) == VKF_OK &&
           report(options, context, subject, record, options->no_roof ? NULL : &roofs, b);
}

static bool profile(const profile_options *options)
{
    vkf_context *context = NULL;
    vkf_profile_subject subject = {0};
    vkf_profile_record record;
    bare b = {0};
    bool done = vkf_profile_record_init(&record, options->repetitions);
    if (!done)
        vkf_print_error("memory for %u runs is exhausted", options->repetitions);
    done = done && vkf_open_context(&options->common, &context) == VKF_OK &&
           profile_in(options, context, &subject, &record, &b);
    bare_end(&b);
    vkf_profile_subject_end(&subject);
    vkf_context_destroy(&context);
    vkf_profile_record_free(&record);
    return done;
}

// Without measuring: every dispatch is waited for, and what it has written is read.
static int check_numbers(const profile_options *options)
{
    vkf_context *context = NULL;
    vkf_profile_subject subject = {0};
    vkf_number_check check = {0};
    vkf_status status = VKF_OK;
    int code = VKF_EXIT_FAILED;
    vkf_common_options common = options->common;
    common.numbers = &check;
    VKF_TRY(vkf_open_context(&common, &context));
    VKF_TRY(vkf_profile_subject_begin(context, &options->subject, &subject));
    status = vkf_profile_subject_run(&subject);
    if (check.exhausted)
        status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    if (status != VKF_OK) {
        vkf_print_error("the run failed: %s", vkf_status_text(status));
    } else {
        vkf_number_check_print(stdout, &check);
        code = check.found ? VKF_EXIT_BEYOND : VKF_EXIT_DONE;
    }
fail:
    vkf_number_check_free(&check);
    vkf_profile_subject_end(&subject);
    vkf_context_destroy(&context);
    return code;
}

static int diff(const profile_options *options)
{
    json_t *before = vkf_profile_document_read(options->paths[0]);
    json_t *after = before ? vkf_profile_document_read(options->paths[1]) : NULL;
    bool done = after != NULL, passes = true;
    if (after)
        passes = vkf_profile_print_diff(stdout, before, after, (double)options->fail_above / 100, &done);
    json_decref(before);
    json_decref(after);
    return !done ? VKF_EXIT_FAILED : passes ? VKF_EXIT_DONE : VKF_EXIT_BEYOND;
}

static int run_command(const profile_options *options)
{
    if (options->common.help) {
        print_help();
        return VKF_EXIT_DONE;
    }
    if (options->diff)
        return diff(options);
    int code = options->check_numbers ? check_numbers(options) : profile(options) ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
    return vkf_common_exit_code(&options->common, code);
}

int vkf_cmd_profile(int argc, char **argv)
{
    profile_options options = {
        .subject = {.batch = 1, .new_tokens = 16},
        .repetitions = 10,
        .warmup = 2,
        .fail_above = 5.0f,
    };
    if (!vkf_common_init(&options.common))
        return VKF_EXIT_FAILED;
    options.common.timestamps = true;
    int code = parse(argc, argv, &options) ? run_command(&options) : VKF_EXIT_USAGE;
    vkf_common_free(&options.common);
    return code;
}

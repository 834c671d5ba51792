// vkformer kernels: every variant of every kernel that a device can use, which problems it serves by default, and what
// the driver's compiler made of it.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "json_output.h"
#include "options.h"

typedef enum output_format { OUTPUT_TABLE = 0, OUTPUT_JSON, OUTPUT_JSON_LINES, OUTPUT_MARKDOWN } output_format;

typedef struct kernels_options {
    vkf_common_options common;
    bool statistics;
    bool all; // those too that the device cannot use
    output_format format;
    const char *const *names; // beginnings of "kernel/config"
    size_t name_count;        // 0: all
} kernels_options;

typedef struct kernel_listing {
    const kernels_options *options;
    vkf_device_info device;
    uint32_t listed;
    uint32_t failed;
    json_t *array; // OUTPUT_JSON: printed at the end
    bool printed;  // so far
} kernel_listing;

enum { OPT_STATISTICS = VKF_OPT_OWN, OPT_ALL, OPT_OUTPUT = 'o' };

static void print_help(void)
{
    fputs("usage: vkformer kernels [--all] [--statistics] [-o FORM] [NAME...]\n"
          "\n"
          "Lists every kernel with every choice of its tile parameters that the device can use, and the problems for\n"
          "which it is taken as long as nothing was measured; those with (f16) only where a context may round\n"
          "float32 factors to 16 bits. NAME is the beginning of one: gemm_tile, or\n"
          "gemm_tile.f32_f32_f32/small. Attention is listed once for each of the usual sizes of a head.\n"
          "\n"
          "  --all                those too that the device cannot use, and why not\n"
          "  --statistics         compile each one, and show what the driver's compiler tells, under the same names\n"
          "                       for every driver: 32-bit registers per invocation; values spilled to memory, and\n"
          "                       (after a +) to registers of another kind; scratch memory per invocation and shared\n"
          "                       memory per workgroup in bytes; instructions; subgroups that a unit of the device\n"
          "                       holds at a time. A - is what the driver does not tell\n"
          "  -o, --output FORM    table (default), json (one array) or jsonl (an object per line), both with the\n"
          "                       driver's own names and figures beside, or md\n"
          "\n"
          "With --statistics exit code 1 also means that a kernel did not compile.\n"
          "\n" VKF_COMMON_HELP,
          stdout);
}

static bool parse_format(const char *text, output_format *out_format)
{
    static const char *const names[] = {
        [OUTPUT_TABLE] = "table", [OUTPUT_JSON] = "json", [OUTPUT_JSON_LINES] = "jsonl", [OUTPUT_MARKDOWN] = "md"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out_format = (output_format)i;
            return true;
        }
    }
    vkf_print_error("--output: '%.200s' is none of table, json, jsonl and md", text);
    return false;
}

static bool parse(int argc, char **argv, kernels_options *options)
{
    static const struct option long_options[] = {
        {"all", no_argument, NULL, OPT_ALL},
        {"statistics", no_argument, NULL, OPT_STATISTICS},
        {"output", required_argument, NULL, OPT_OUTPUT},
        VKF_COMMON_LONG_OPTIONS,
        {0},
    };
    for (int opt; (opt = getopt_long(argc, argv, "o:", long_options, NULL)) != -1;) {
        bool good = true;
        if (opt == OPT_STATISTICS)
            options->statistics = options->common.statistics = true;
        else if (opt == OPT_ALL)
            options->all = true;
        else if (opt == OPT_OUTPUT)
            good = parse_format(optarg, &options->format);
        else
            good = vkf_parse_common(opt, optarg, &options->common);
        if (!good)
            return false;
    }
    options->names = (const char *const *)(argv + optind);
    options->name_count = (size_t)(argc - optind);
    return true;
}

typedef char number_text[48];

static const char *format_number(int64_t value, number_text out_text)
{
    snprintf(out_text, sizeof(number_text), value < 0 ? "-" : "%" PRId64, value);
    return out_text;
}

static const char *format_spills(const vkf_kernel_statistics *statistics, number_text out_text)
{
    if (statistics->spills < 0 || statistics->inner_spills <= 0)
        return format_number(statistics->spills, out_text);
    snprintf(out_text, sizeof(number_text), "%" PRId64 "+%" PRId64, statistics->spills, statistics->inner_spills);
    return out_text;
}

static const char *result_text(const vkf_kernel_report *report)
{
    return report->compiled ? "yes" : report->usable ? "FAILED" : "no";
}

static void print_head(const kernel_listing *listing)
{
    bool statistics = listing->options->statistics;
    const vkf_device_info *device = &listing->device;
    if (listing->options->format == OUTPUT_TABLE) {
        printf("device %u: %s, %s %s\n", device->index, device->name, device->driver_name, device->driver_info);
        if (statistics)
            printf("%-44s %-12s %-8s %4s %8s %7s %6s %6s %5s  ", "kernel", "constants", "compiled", "reg", "spills",
                   "scratch", "shared", "instr", "waves");
        else
            printf("%-44s %-12s ", "kernel", "constants");
        puts("default for");
    } else if (listing->options->format == OUTPUT_MARKDOWN) {
        printf("%s, %s %s\n\n", device->name, device->driver_name, device->driver_info);
        puts(statistics
                 ? "| kernel | constants | compiled | registers | spills | scratch B | shared B | instructions | "
                   "waves | default for |\n|---|---|---|---:|---:|---:|---:|---:|---:|---|"
                 : "| kernel | constants | default for |\n|---|---|---|");
    }
}

static void print_row(const kernel_listing *listing, const vkf_kernel_report *report, const char *full_name)
{
    const vkf_kernel_statistics *s = &report->statistics;
    bool markdown = listing->options->format == OUTPUT_MARKDOWN;
    number_text registers, spills, scratch, shared, instructions, waves;
    printf(markdown ? "| %s | %s | " : "%-44s %-12s ", full_name, report->constants);
    if (listing->options->statistics)
        printf(markdown ? "%s | %s | %s | %s | %s | %s | %s | " : "%-8s %4s %8s %7s %6s %6s %5s  ", result_text(report),
               format_number(s->registers, registers), format_spills(s, spills),
               format_number(s->scratch_bytes, scratch), format_number(s->shared_bytes, shared),
               format_number(s->instructions, instructions), format_number(s->waves, waves));
    if (report->usable)
        printf(markdown ? "%s |\n" : "%s\n", report->default_for);
    else
        printf(markdown ? "not usable: %s |\n" : "not usable: %s\n", report->why);
}

static void put_statistic(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, value < 0 ? json_null() : json_integer(value));
}

static json_t *statistics_json(const vkf_kernel_statistics *statistics)
{
    json_t *object = json_object();
    put_statistic(object, "registers", statistics->registers);
    put_statistic(object, "spills", statistics->spills);
    put_statistic(object, "inner_spills", statistics->inner_spills);
    put_statistic(object, "scratch_bytes", statistics->scratch_bytes);
    put_statistic(object, "shared_bytes", statistics->shared_bytes);
    put_statistic(object, "instructions", statistics->instructions);
    put_statistic(object, "code_bytes", statistics->code_bytes);
    put_statistic(object, "waves", statistics->waves);
    return object;
}

static json_t *report_json(const kernel_listing *listing, const vkf_kernel_report *report)
{
    json_t *object = json_object();
    vkf_json_put_string(object, "device", listing->device.name);
    vkf_json_put_string(object, "driver", listing->device.driver_name);
    vkf_json_put_string(object, "driver_info", listing->device.driver_info);
    vkf_json_put_string(object, "kernel", report->kernel);
    vkf_json_put_string(object, "config", report->config);
    vkf_json_put_string(object, "constants", report->constants);
    json_object_set_new(object, "usable", json_boolean(report->usable));
    vkf_json_put_string(object, "why", report->why);
    vkf_json_put_string(object, "default_for", report->default_for);
    if (!listing->options->statistics)
        return object;
    json_object_set_new(object, "compiled", json_boolean(report->compiled));
    vkf_json_put_string(object, "status", vkf_status_name(report->status));
    json_object_set_new(object, "statistics",
                        report->has_statistics ? statistics_json(&report->statistics) : json_null());
    json_t *raw = json_object();
    for (uint32_t i = 0; i < report->raw_count; i++)
        json_object_set_new(raw, report->raw[i].name, json_real(report->raw[i].value));
    json_object_set_new(object, "raw", raw);
    return object;
}

static bool visit(void *user, const vkf_kernel_report *report)
{
    kernel_listing *listing = user;
    char full_name[160];
    snprintf(full_name, sizeof full_name, "%s/%s", report->kernel, report->config);
    if (!report->usable && !listing->options->all)
        return true;
    if (listing->listed++ == 0)
        print_head(listing);
    listing->failed += listing->options->statistics && report->usable && !report->compiled;
    if (listing->options->format == OUTPUT_JSON)
        json_array_append_new(listing->array, report_json(listing, report));
    else if (listing->options->format == OUTPUT_JSON_LINES)
        listing->printed = vkf_print_json(report_json(listing, report));
    else
        print_row(listing, report, full_name);
    return listing->printed;
}

static int list_kernels(const kernels_options *options)
{
    vkf_context *context = NULL;
    if (vkf_open_context(&options->common, &context) != VKF_OK)
        return VKF_EXIT_FAILED;
    kernel_listing listing = {.options = options, .printed = true};
    listing.array = options->format == OUTPUT_JSON ? json_array() : NULL;
    vkf_context_device_info(context, &listing.device);
    vkf_status status = VKF_OK;
    const size_t visits = options->name_count > 0 ? options->name_count : 1;
    for (size_t i = 0; i < visits && status == VKF_OK; i++)
        status = vkf_context_report_kernels(context, options->name_count > 0 ? options->names[i] : NULL,
                                            options->statistics, visit, &listing);
    vkf_context_destroy(&context);
    if (options->format == OUTPUT_JSON)
        listing.printed = vkf_print_json(listing.array);
    if (status != VKF_OK && listing.printed)
        vkf_print_error("the list ends early: %s", vkf_status_text(status));
    if (status == VKF_OK && listing.listed == 0)
        vkf_print_error("no kernel of that name can be used on this device");
    if (listing.failed > 0)
        vkf_print_error("%" PRIu32 " of %" PRIu32 " kernels did not compile", listing.failed, listing.listed);
    return status == VKF_OK && listing.printed && listing.listed > 0 && listing.failed == 0 ? VKF_EXIT_DONE
                                                                                            : VKF_EXIT_FAILED;
}

int vkf_cmd_kernels(int argc, char **argv)
{
    kernels_options options = {0};
    int code = VKF_EXIT_FAILED;
    if (vkf_common_init(&options.common)) {
        if (!parse(argc, argv, &options)) {
            code = VKF_EXIT_USAGE;
        } else if (options.common.help) {
            print_help();
            code = VKF_EXIT_DONE;
        } else {
            code = vkf_common_exit_code(&options.common, list_kernels(&options));
        }
    }
    vkf_common_free(&options.common);
    return code;
}

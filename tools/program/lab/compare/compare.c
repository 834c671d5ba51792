// vkformer compare: how far the tensors of one file are from those of another, read tensor by tensor on the host; or
// what dispatches of a model write on one device from what they write on another.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/command.h"
#include "lab/compare/compare_devices.h"
#include "lab/compare/compare_pairs.h"
#include "lab/compare/compare_report.h"
#include "output/file_output.h"
#include "output/progress.h"

typedef struct compare_options {
    const char *tested_path, *reference_path;
    double atol, rtol;
    const char **patterns; // those of --only, in argv
    size_t pattern_count;
    vkf_pair_order order;
    vkf_rows_format format;
    bool complete;
    vkf_two_devices devices; // .reference NULL: two files are compared
} compare_options;

static void print_help(const void *user)
{
    (void)user;
    fputs(
        "usage: vkformer compare [OPTIONS] A.safetensors B.safetensors\n"
        "       vkformer compare --against DEVICE --dump DIR [OPTIONS] [--] MODEL [TEXT...] [OPTION OF RUN...]\n"
        "\n"
        "Shows how far each tensor of A, what is tested, is from the one of the same name in B, the reference. Types\n"
        "may differ, and so may leading dimensions of 1. An element is within tolerance when\n"
        "|a - b| <= ATOL * scale + RTOL * |b|, scale being the largest |b| of the tensor (1 if it is 0); a NaN only\n"
        "beside a NaN, an infinity beside the same one. Whole numbers beside whole numbers must be equal. Tensors in\n"
        "one file alone are listed. The last line names the first tensor beyond tolerance, in the order of the file.\n"
        "No device is needed.\n"
        "With --against the model runs twice, as by vkformer run, and A and B are what its dispatches wrote on either\n"
        "device, submission by submission, up to the first that differs: with --against reference its first tensor\n"
        "beyond tolerance is a wrong kernel's. Where options of run follow the texts, -- stands before the model.\n"
        "\n"
        "  --against DEVICE     what is compared with: reference, or what --device takes\n"
        "  --device DEVICE      what is tested; default best\n"
        "  --dump DIR           gets DIR/tested and DIR/reference, the files that are compared\n"
        "  --atol ATOL          of the tensor's scale; default 1e-4\n"
        "  --rtol RTOL          of the element; default 1e-4\n"
        "  --only NAMES         tensors whose names begin with NAMES, or are like it where it has one of * ? [;\n"
        "                       repeatable\n"
        "  --complete           a tensor in one file alone counts as beyond tolerance\n"
        "  --sort ORDER         file (default): as stored in A, or where that is by names as most writers store\n"
        "                       them, by names with numbers as numbers; name: the same for any file; or error: the\n"
        "                       worst of its scale first\n"
        "  -o, --output FORM    table (default), json (one object), jsonl (an object per tensor), csv or "
        "md\n" VKF_EVERY_HELP(
            "  ") "\n"
                  "Columns: the largest |a - b|, where it is, and as a part of the scale; the root mean square of a - "
                  "b over\n"
                  "that of b; the cosine of both as vectors; how many elements are beyond tolerance.\n"
                  "Exit codes: 0 all within tolerance, 1 failed (a bad file, or nothing to compare), 2 wrong command "
                  "line,\n"
                  "3 a comparison found more than it allows: a tensor beyond tolerance, or of another shape.\n",
        stdout);
}

static bool take_pattern(const vkf_option *option, const char *text, void *user)
{
    compare_options *options = user;
    (void)option;
    if (*text == '\0') {
        vkf_print_error("--only: the name is empty");
        return false;
    }
    options->patterns[options->pattern_count++] = text; // there is room for all of argv
    return true;
}

static const vkf_option own[] = {
    VKF_OPTION_WITHIN(compare_options, "atol", DOUBLE, atol, 0, 1e6),
    VKF_OPTION_WITHIN(compare_options, "rtol", DOUBLE, rtol, 0, 1e6),
    VKF_OPTION(compare_options, "against", TEXT, devices.reference),
    VKF_OPTION(compare_options, "device", TEXT, devices.tested),
    VKF_OPTION(compare_options, "dump", PATH, devices.directory),
    {.name = "only", .take = take_pattern},
    VKF_OPTION(compare_options, "complete", FLAG, complete),
    VKF_OPTION_OF(compare_options, "sort", order, "file|name|error", "none of file, name, error"),
    VKF_OPTION_ROWS(compare_options, format),
    {0},
};

static bool take_arguments(int argc, char **argv, void *user)
{
    compare_options *options = user;
    vkf_two_devices *devices = &options->devices;
    if (devices->reference) {
        devices->words = argv + optind;
        devices->count = argc - optind;
        if (devices->count > 0 && devices->directory)
            return true;
        vkf_print_error("--against: %s; see vkformer compare --help",
                        devices->directory ? "name the model that runs on both devices"
                                           : "name a directory for what dispatches write: --dump DIR");
        return false;
    }
    if (devices->directory || strcmp(devices->tested, "best") != 0) {
        vkf_print_error("%s goes with --against; see vkformer compare --help",
                        devices->directory ? "--dump" : "--device");
        return false;
    }
    if (argc - optind != 2) {
        vkf_print_error("compare takes two safetensors files, not %d; see vkformer compare --help", argc - optind);
        return false;
    }
    options->tested_path = argv[optind];
    options->reference_path = argv[optind + 1];
    return true;
}

static bool failed(const vkf_tensor_pair *pair, bool complete)
{
    if (pair->verdict == VKF_PAIR_TESTED_ONLY || pair->verdict == VKF_PAIR_REFERENCE_ONLY)
        return complete;
    return pair->verdict != VKF_PAIR_WITHIN;
}

static vkf_status judge(const compare_options *options, vkf_tensor_pair *pairs, size_t count)
{
    vkf_status status = VKF_OK;
    vkf_progress progress = vkf_progress_start("comparing");
    for (size_t i = 0; i < count && status == VKF_OK; i++) {
        vkf_progress_show(&progress, (uint32_t)i, (uint32_t)count, vkf_pair_name(&pairs[i]));
        status = vkf_pair_judge(&pairs[i], options->atol, options->rtol);
    }
    vkf_progress_end(&progress);
    return status;
}

// Makes the report of judged pairs, which are in the order of the files.
static vkf_compare_report make_report(const compare_options *options, const vkf_tensor_pair *pairs, size_t count)
{
    vkf_compare_report report = {
        .tested_path = options->tested_path,
        .reference_path = options->reference_path,
        .atol = options->atol,
        .rtol = options->rtol,
        .pairs = pairs,
        .count = count,
    };
    for (size_t i = 0; i < count; i++) {
        report.compared_count += pairs[i].tested && pairs[i].reference;
        if (failed(&pairs[i], options->complete) && report.failed_count++ == 0)
            report.first_failed = vkf_pair_name(&pairs[i]);
    }
    return report;
}

// A comparison of nothing must not pass.
static bool anything_compared(const vkf_tensor_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].error.count > 0 || pairs[i].verdict == VKF_PAIR_SHAPES)
            return true;
    return false;
}

static int report_pairs(const compare_options *options, vkf_tensor_pair *pairs, size_t count)
{
    vkf_compare_report report = make_report(options, pairs, count);
    if (!anything_compared(pairs, count)) {
        vkf_print_error("there is nothing to compare: %.400s and %.400s have no elements in tensors of the same name%s",
                        options->tested_path, options->reference_path,
                        options->pattern_count > 0 ? " among those of --only" : "");
        return VKF_EXIT_FAILED;
    }
    vkf_pairs_sort(pairs, count, options->order);
    if (!vkf_compare_print(&report, options->format))
        return VKF_EXIT_FAILED;
    return report.failed_count > 0 ? VKF_EXIT_BEYOND : VKF_EXIT_DONE;
}

static int compare_files(const compare_options *options)
{
    const vkf__host printing = vkf_printing_host(), *host = &printing;
    vkf_status status = VKF_OK;
    vkf__tensor_file *tested = NULL, *reference = NULL;
    vkf_tensor_pair *pairs = NULL;
    size_t count = 0;
    int code = VKF_EXIT_FAILED;
    VKF_TRY(vkf__safetensors_open(host, options->tested_path, &tested));
    VKF_TRY(vkf__safetensors_open(host, options->reference_path, &reference));
    VKF_TRY(vkf__tensor_file_check_bools(tested));
    VKF_TRY(vkf__tensor_file_check_bools(reference));
    VKF_TRY(vkf_pairs_make(host, tested, reference, options->patterns, options->pattern_count, &pairs, &count));
    VKF_TRY(judge(options, pairs, count));
    VKF_TRY(vkf__tensor_file_check_unchanged(tested));
    VKF_TRY(vkf__tensor_file_check_unchanged(reference));
    code = report_pairs(options, pairs, count);
fail:
    vkf__free(host, pairs);
    vkf__tensor_file_close(&tested);
    vkf__tensor_file_close(&reference);
    return code;
}

static int compare_pair(void *user, const char *tested_path, const char *reference_path)
{
    compare_options *options = user;
    options->tested_path = tested_path;
    options->reference_path = reference_path;
    return compare_files(options);
}

static int run(void *user)
{
    compare_options *options = user;
    return options->devices.reference ? vkf_compare_devices(&options->devices, compare_pair, options)
                                      : compare_files(options);
}

static const vkf_command command = {own, NULL, take_arguments, print_help, run};

int vkf_cmd_compare(int argc, char **argv)
{
    compare_options options = {.atol = 1e-4, .rtol = 1e-4, .devices.tested = "best"};
    options.patterns = calloc((size_t)argc + 1, sizeof *options.patterns);
    if (!options.patterns) {
        vkf_print_error("memory is exhausted");
        return VKF_EXIT_FAILED;
    }
    int code = vkf_command_run(&command, argc, argv, &options, NULL);
    free(options.patterns);
    return code;
}

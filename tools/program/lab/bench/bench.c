// vkformer bench: finds the benchmark and runs it on every shape and type.
#include "lab/bench/bench.h"

#include <stdio.h>
#include <string.h>

#include "command/commands.h"
#include "command/nearest_name.h"
#include "lab/bench/bench_watch.h"
#include "measure/measured_roofs.h"
#include "output/visible_text.h"

static const vkf_bench_spec *const benchmarks[] = {
    &vkf_bench_gemm,   &vkf_bench_gemv,    &vkf_bench_attention, &vkf_bench_mha,      &vkf_bench_softmax,
    &vkf_bench_norm,   &vkf_bench_permute, &vkf_bench_layer,     &vkf_bench_backward, &vkf_bench_model,
    &vkf_bench_decode, &vkf_bench_train,   &vkf_bench_copy,      &vkf_bench_fma,      &vkf_bench_cases,
};

#define BENCHMARK_COUNT (sizeof benchmarks / sizeof benchmarks[0])

static void print_help(FILE *out)
{
    fputs("usage: vkformer bench BENCHMARK [SHAPE...] [OPTIONS]\n\n", out);
    for (size_t i = 0; i < BENCHMARK_COUNT; i++) {
        char forms[128];
        vkf_bench_forms_text(&benchmarks[i]->extents, forms, sizeof forms);
        vkf_print_on(out, "  %-10s %s%s%s\n", benchmarks[i]->name, benchmarks[i]->summary, forms[0] ? ": " : "", forms);
    }
    fputs("\nvkformer bench BENCHMARK --help describes a benchmark and its options. All have\n\n", out);
    vkf_bench_print_common_help(out);
}

size_t vkf_bench_case_count(const vkf_bench_options *options, const vkf_bench_spec *spec)
{
    return options->type_count * options->shapes.count * vkf_bench_parts(spec);
}

const vkf_bench_types *vkf_bench_case_types(const vkf_bench_options *options, const vkf_bench_spec *spec, size_t index)
{
    return &options->types[index / vkf_bench_parts(spec) / options->shapes.count];
}

vkf_status vkf_bench_run_case(vkf_bench *bench, const vkf_bench_spec *spec, size_t index)
{
    const vkf_bench_options *options = bench->options;
    const size_t parts = vkf_bench_parts(spec), shapes = options->shapes.count;
    bench->part = (uint32_t)(index % parts);
    return spec->run(bench, vkf_bench_case_types(options, spec, index), &options->shapes.list[index / parts % shapes]);
}

bool vkf_bench_begin(vkf_bench *bench, const vkf_bench_spec *spec, vkf_measured_roofs *roofs,
                     vkf_bench_report *out_report)
{
    const vkf_bench_options *options = bench->options;
    if (vkf_open_context(&options->common, &bench->context) != VKF_OK)
        return false;
    if (!options->no_roof && vkf_measure_settled_roofs(bench->context, options->settle_s, roofs) != VKF_OK)
        return false;
    *out_report =
        vkf_bench_report_begin(bench->context, options->format, spec->tokens, options->no_roof ? NULL : roofs);
    bench->report = out_report;
    return true;
}

void vkf_bench_end(vkf_bench *bench)
{
    vkf_model_destroy(&bench->model);
    vkf_context_destroy(&bench->context);
}

// A shape that fails does not keep the others from being measured, but a lost device does.
static bool run_all(vkf_bench *bench, const vkf_bench_spec *spec)
{
    bool done = true;
    for (size_t i = 0; i < vkf_bench_case_count(bench->options, spec); i++) {
        vkf_status status = vkf_bench_run_case(bench, spec, i);
        done = done && status == VKF_OK;
        if (status == VKF_ERROR_DEVICE_LOST)
            return false;
    }
    return done;
}

static int measure(const vkf_bench_options *options, const vkf_bench_spec *spec)
{
    vkf_bench bench = {.options = options};
    vkf_bench_report report;
    vkf_measured_roofs roofs;
    bool done = false;
    if (vkf_bench_begin(&bench, spec, &roofs, &report)) {
        done = run_all(&bench, spec);
        done = vkf_bench_report_end(&report) && done;
    }
    vkf_bench_end(&bench);
    return done ? VKF_EXIT_DONE : VKF_EXIT_FAILED;
}

static int run(const vkf_bench_options *options, const vkf_bench_spec *spec)
{
    return options->watch ? vkf_bench_watch(options, spec) : measure(options, spec);
}

int vkf_cmd_bench(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return VKF_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return VKF_EXIT_DONE;
    }
    vkf_nearest_name nearest = {.word = argv[1]};
    for (size_t i = 0; i < BENCHMARK_COUNT; i++) {
        vkf_nearest_name_offer(&nearest, benchmarks[i]->name);
        if (strcmp(argv[1], benchmarks[i]->name) != 0)
            continue;
        char full_name[64];
        snprintf(full_name, sizeof full_name, "vkformer bench %s", benchmarks[i]->name);
        argv[1] = full_name;
        if (benchmarks[i]->command)
            return benchmarks[i]->command(argc - 1, argv + 1);
        return vkf_bench_run_with_options(argc - 1, argv + 1, benchmarks[i], run);
    }
    vkf_nearest_name_refuse(&nearest, "", "there is no such benchmark", argv[0]);
    return VKF_EXIT_USAGE;
}

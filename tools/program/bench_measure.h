// Warm-up, repetitions and the report of a benchmark.
#ifndef VKF_PROGRAM_BENCH_MEASURE_H
#define VKF_PROGRAM_BENCH_MEASURE_H

#include <jansson.h>

#include "bench_options.h"

typedef struct vkf_bench_case {
    const char *op;
    json_t *shape; // an object of numbers, booleans and strings; vkf_bench_measure() releases it
    double flops;
    double bytes; // every input read once and every output written once
    // One repetition; *out_gpu_ns is negative when it is unknown.
    vkf_status (*run)(void *user, double *out_gpu_ns);
    // Names the kernels of the last repetition.
    void (*variant)(void *user, char *out_text, size_t size_bytes);
    void *user;
} vkf_bench_case;

// Measures and prints. False: the reason has been printed.
bool vkf_bench_measure(const vkf_bench_options *options, vkf_context *context, const vkf_bench_case *bench_case);

#endif

// The options of benchmarks: those that all of them have, and a table of each one's own.
#ifndef VKF_PROGRAM_BENCH_OPTIONS_H
#define VKF_PROGRAM_BENCH_OPTIONS_H

#include "command/options.h"
#include "lab/bench/bench_report.h"
#include "lab/bench/bench_shapes.h"

// Settings beside sizes, which single benchmarks have.
typedef struct vkf_bench_settings {
    bool transpose_b;
    const char *weights; // how a weight is stored: "best", "packed" or "rows"
    bool causal;
    bool residual;
    bool merge;
    bool gradients; // of an attention
    bool details;
    uint32_t kv_heads;      // of an attention; 0: as many as query heads
    const char *kind;       // of a layer
    const char *activation; // of its feed-forward part
    uint32_t d_model;       // of a model with random weights
    uint32_t heads;
    uint32_t ff;
    uint32_t encoder_layers;
    uint32_t decoder_layers;
    uint32_t vocab;
} vkf_bench_settings;

#define VKF_BENCH_MAX_TYPES (VKF_MODEL_PRECISION_COUNT + 4)

typedef struct vkf_bench_options {
    vkf_common_options common;
    vkf_bench_settings settings;
    vkf_bench_types types[VKF_BENCH_MAX_TYPES];
    uint32_t type_count;
    vkf_rows_format format;
    uint32_t repetitions;
    uint32_t warmup;
    float settle_s; // VKF_SETTLE_DEFAULT: as the device needs
    bool no_roof;
    bool watch;              // measure again at each save of a shader
    uint32_t watch_runs;     // how many saves to end after; 0: no end
    vkf_bench_shapes shapes; // at least one
    const char *directory;   // NULL: not given
} vkf_bench_options;

typedef struct vkf_bench_spec vkf_bench_spec;

// Calls `run_bench` with the options and returns its exit code, unless help is printed or something is wrong.
int vkf_bench_run_with_options(int argc, char **argv, const vkf_bench_spec *spec,
                               int (*run_bench)(const vkf_bench_options *options, const vkf_bench_spec *spec));

// Prints the part of every benchmark's help that describes the common options.
void vkf_bench_print_common_help(FILE *out);

#endif

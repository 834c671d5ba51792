// Options of the benchmarks: those that all of them have, and a table of each one's own.
#ifndef VKF_PROGRAM_BENCH_OPTIONS_H
#define VKF_PROGRAM_BENCH_OPTIONS_H

#include "options.h"

typedef struct vkf_bench_options {
    vkf_common_options common;
    vkf_dtype dtype;
    uint32_t repetitions;
    uint32_t warmup;
    bool json;
} vkf_bench_options;

// One option of a benchmark; exactly one of the three pointers is set.
typedef struct vkf_bench_parameter {
    const char *name; // "head-dim"
    uint32_t *number; // holds the default beforehand; 0: the option must be given
    uint32_t max;
    bool *flag;
    const char **text; // holds the default beforehand; NULL: the option must be given
} vkf_bench_parameter;

#define VKF_BENCH_MAX_PARAMETERS 12

#define VKF_BENCH_HELP                                                                              \
    "  --dtype TYPE       f32 (default) or f16: weights and activations\n"                          \
    "  --repetitions N    measured runs (default 20)\n"                                             \
    "  --warmup N         runs before them (default 3)\n"                                           \
    "  --json             one JSON object instead of a table\n"                                     \
    "\n"                                                                                            \
    "Weights and inputs are random. gpu is the time between timestamps on the device, wall the\n"   \
    "time of a whole call, submission and waiting included. Rates are of the median gpu time, or\n" \
    "of the median wall time where the device has no timestamps.\n"                                 \
    "\n" VKF_COMMON_HELP

// Reads all arguments. Returns -1 when the benchmark shall go on, and the exit code when it shall not: --help was given
// and `help` printed, or something was wrong and a message printed. vkf_common_free(&out_options->common) in any case.
int vkf_bench_parse(int argc, char **argv, const char *help, const vkf_bench_parameter *parameters, uint32_t count,
                    vkf_bench_options *out_options);

#endif

// A case measured on two contexts in turn: on the last good version of the shaders and on an edited one.
//
// The old half runs the benchmark as ever until it would repeat; there the edited half is run, inside it, until it
// would repeat as well. Then both are alive, and their repetitions take turns. So no benchmark knows of pairs.
#ifndef VKF_PROGRAM_BENCH_PAIR_H
#define VKF_PROGRAM_BENCH_PAIR_H

#include "bench/bench_measure.h"

typedef enum vkf_bench_outcome {
    VKF_BENCH_FAILED = 0, // and messages were printed
    VKF_BENCH_MEASURED,
    VKF_BENCH_UNCHANGED, // the edit is in no kernel that the case takes
    VKF_BENCH_WRONG,     // the self-test refuses an edited kernel
    VKF_BENCH_STOPPED,
} vkf_bench_outcome;

typedef struct vkf_bench_half {
    vkf_bench *bench;
    const vkf_bench_loop *loop;
    double *samples_ms; // (count), in the order in which they were taken
    uint32_t count;
    json_t *kernels; // array
} vkf_bench_half;

typedef struct vkf_bench_pair {
    const vkf_bench_spec *spec;
    size_t index; // of the case
    vkf_bench_half old, edited;
    vkf_bench_outcome outcome;
    vkf_status status; // of FAILED
    const char *op;    // NULL when it failed before
    json_t *shape;
    json_t *refused; // array of kernels: of WRONG
    bool gpu_timed;
} vkf_bench_pair;

// vkf_bench_pair_free() afterwards, whatever the outcome.
vkf_bench_pair vkf_bench_pair_run(vkf_bench *old, vkf_bench *edited, const vkf_bench_spec *spec, size_t index);
void vkf_bench_pair_free(vkf_bench_pair *pair);

// What vkf_bench_repeat() and vkf_bench_print_samples() do for a half.
vkf_status vkf_bench_pair_repeat(vkf_bench *bench, const vkf_bench_loop *loop);
vkf_status vkf_bench_pair_take(vkf_bench *bench, const vkf_bench_samples *samples);

#endif

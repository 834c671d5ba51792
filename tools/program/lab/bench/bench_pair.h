// A case measured on two contexts in turn: the last good version of the shaders and an edited one.
//
// The old half runs the benchmark as usual up to its first repetition. There it runs the edited half inside itself,
// also up to its first repetition. Both are then alive, and their repetitions take turns. So no benchmark needs to know
// about pairs.
#ifndef VKF_PROGRAM_BENCH_PAIR_H
#define VKF_PROGRAM_BENCH_PAIR_H

#include "lab/bench/bench_measure.h"

typedef enum vkf_bench_outcome {
    VKF_BENCH_FAILED = 0, // and messages were printed
    VKF_BENCH_MEASURED,
    VKF_BENCH_UNCHANGED, // the edit affects no kernel that the case takes
    VKF_BENCH_WRONG,     // the self-test refuses an edited kernel
    VKF_BENCH_STOPPED,
} vkf_bench_outcome;

typedef struct vkf_bench_half {
    vkf_bench *bench;
    const vkf_bench_loop *loop;
    double *samples_ms; // (count), in the order in which they were measured
    uint32_t count;
    json_t *kernels; // array
} vkf_bench_half;

typedef struct vkf_bench_pair {
    const vkf_bench_spec *spec;
    size_t index; // of the case
    vkf_bench_half old, edited;
    vkf_bench_outcome outcome;
    vkf_status status; // where the outcome is FAILED
    const char *op;    // NULL when it failed before its first repetition
    json_t *shape;
    json_t *refused; // array of kernels, where the outcome is WRONG
    bool gpu_timed;
    uint32_t turns; // how often both halves have run
    vkf_settled settled;
} vkf_bench_pair;

// vkf_bench_pair_free() must follow, whatever the outcome.
vkf_bench_pair vkf_bench_pair_run(vkf_bench *old, vkf_bench *edited, const vkf_bench_spec *spec, size_t index);
void vkf_bench_pair_free(vkf_bench_pair *pair);

// What vkf_bench_repeat() and vkf_bench_print_samples() do for one half of a pair.
vkf_status vkf_bench_pair_repeat(vkf_bench *bench, const vkf_bench_loop *loop);
vkf_status vkf_bench_pair_take(vkf_bench *bench, const vkf_bench_samples *samples);

#endif

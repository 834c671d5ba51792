// The warm-up and repetitions of a benchmark, and their results.
#ifndef VKF_PROGRAM_BENCH_MEASURE_H
#define VKF_PROGRAM_BENCH_MEASURE_H

#include "lab/bench/bench.h"
#include "lab/bench/bench_roof.h"

typedef struct vkf_bench_case {
    const char *op;
    json_t *shape; // an object of numbers, booleans and strings; the functions below release it
    vkf_bench_types types;
    vkf_bench_cost cost; // of one repetition
    // Runs one repetition; *out_gpu_ns is negative when it is unknown.
    vkf_status (*run)(void *user, double *out_gpu_ns);
    // Names the kernels of the last repetition.
    void (*variant)(void *user, char *out_text, size_t size_bytes);
    // A new array of the last dispatches, {label, kernel, gpu_ms_min}; NULL: no details.
    json_t *(*details)(void *user);
    void *user;
} vkf_bench_case;

// What to repeat, for benchmarks that keep their own samples.
typedef struct vkf_bench_loop {
    const char *op;
    const json_t *shape; // as in vkf_bench_case; stays the caller's
    // Runs it, and keeps the times only if they are wanted. *out_gpu_ns is negative when it is unknown.
    vkf_status (*once)(void *user, bool keep, double *out_gpu_ns);
    void *user;
} vkf_bench_loop;

// What is run before the repetitions, and as a repetition, see vkf_settle_work.
typedef struct vkf_bench_phases_work {
    vkf_status (*warm)(void *user, double *out_gpu_ns);
    vkf_status (*keep)(void *user);
    void *user;
    bool alone;
} vkf_bench_phases_work;

// What vkf_bench_repeat() does, with work that was made of loops.
vkf_status vkf_bench_phases(const vkf_bench *bench, const vkf_bench_phases_work *work, const char *op,
                            vkf_settled *out_settled);

// Runs the warm-up, goes on until the device has settled, and at once runs as many repetitions as the options say.
// bench->settled tells how that ended. The halves of a pair take turns. Status CANCELLED when the user stops it or the
// pair is decided; other failures have been printed.
vkf_status vkf_bench_repeat(vkf_bench *bench, const vkf_bench_loop *loop);

// Measures as the options say, and prints the result. Failures have been printed.
vkf_status vkf_bench_measure(vkf_bench *bench, const vkf_bench_case *bench_case);

// Times that a benchmark took itself, `count` of each kind. Summarising sorts them.
typedef struct vkf_bench_samples {
    uint32_t count;
    double *gpu_ms; // NULL: unknown
    double *wall_ms;
    double *host_us;     // NULL: unknown
    double tokens_each;  // tokens that one sample stands for; 0: none
    uint64_t peak_bytes; // of device memory; 0: what is in use at the time of printing
} vkf_bench_samples;

// Prints the statistics of the samples, or gives them to the pair. Releases the case's shape. Status FILE when printing
// fails.
vkf_status vkf_bench_print_samples(vkf_bench *bench, const vkf_bench_case *bench_case, vkf_bench_samples *samples);

#endif

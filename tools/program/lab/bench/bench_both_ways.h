// Dispatches that go forward and then back, and how long each of the ways takes.
#ifndef VKF_PROGRAM_BENCH_BOTH_WAYS_H
#define VKF_PROGRAM_BENCH_BOTH_WAYS_H

#include "lab/bench/bench_recording.h"

typedef struct vkf_bench_both_ways {
    vkf_bench_recording recording;
    uint32_t first_back;        // the first dispatch of the way back; the emitter says it
    double forward_ns, both_ns; // sums over the runs
} vkf_bench_both_ways;

// Members of a vkf_bench_case whose user is a vkf_bench_both_ways.
vkf_status vkf_bench_both_ways_run(void *user, double *out_gpu_ns);
void vkf_bench_both_ways_ratio(void *user, char *out_text, size_t size_bytes);
json_t *vkf_bench_both_ways_details(void *user);

#endif

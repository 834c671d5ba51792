// Dispatches that a benchmark records once and runs again and again.
#ifndef VKF_PROGRAM_BENCH_RECORDING_H
#define VKF_PROGRAM_BENCH_RECORDING_H

#include <jansson.h>

#include "kernel/work.h"

typedef struct vkf_bench_recording {
    vkf__work work;
    vkf__submission submission;
    vkf_buffer *arena;
    double *best_ns; // (work.plan.node_count) of each dispatch; NULL without timestamps
} vkf_bench_recording;

// vkf_bench_recording_end() must follow in any case.
vkf_status vkf_bench_recording_begin(vkf_context *context, const char *name, vkf__emit_fn emit, const void *args,
                                     vkf_bench_recording *out_recording);
void vkf_bench_recording_end(vkf_bench_recording *recording);
// *out_gpu_ns is negative when it is unknown.
vkf_status vkf_bench_recording_run(vkf_bench_recording *recording, double *out_gpu_ns);

// Adds up the times of a work's dispatches in its last run, and keeps the least of each in `best_ns`, which may be
// NULL. *out_gpu_ns is negative when it is unknown.
vkf_status vkf_bench_work_times(vkf__work *work, double *best_ns, double *out_gpu_ns);
// Appends {label, kernel, gpu_ms_min} of each dispatch.
void vkf_bench_work_details(const vkf__work *work, const double *best_ns, json_t *array);
// For so many dispatches a time that is not known yet; NULL where there is no memory.
double *vkf_bench_unknown_times(uint32_t count);

#endif

// A layer as the subject of a benchmark: its runs, and the times of its dispatches.
#ifndef VKF_PROGRAM_BENCH_DISPATCHES_H
#define VKF_PROGRAM_BENCH_DISPATCHES_H

#include <jansson.h>
#include <stddef.h>

#include <vkformer/vkformer.h>

typedef struct vkf_bench_dispatches {
    vkf_layer *layer;
    vkf_layer_sizes sizes;
    bool timed; // the device has timestamps
    uint32_t count;
    vkf_timing *timings; // (count), of the last run
    double *best_ns;     // (count), over all runs
} vkf_bench_dispatches;

// Takes ownership of the layer: vkf_bench_dispatches_end() destroys it.
vkf_bench_dispatches vkf_bench_dispatches_begin(vkf_context *context, vkf_layer *layer, const vkf_layer_sizes *sizes);
void vkf_bench_dispatches_end(vkf_bench_dispatches *dispatches);

// The functions of a vkf_bench_case (run, variant, details); `user` is a vkf_bench_dispatches.
vkf_status vkf_bench_dispatches_run(void *user, double *out_gpu_ns);
void vkf_bench_dispatches_variant(void *user, char *out_text, size_t size_bytes);

json_t *vkf_bench_dispatches_details(void *user);

#endif

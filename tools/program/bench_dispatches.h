// A layer as the subject of a benchmark: runs, and the times of its dispatches.
#ifndef VKF_PROGRAM_BENCH_DISPATCHES_H
#define VKF_PROGRAM_BENCH_DISPATCHES_H

#include <stddef.h>

#include <vkformer/vkformer.h>

typedef struct vkf_bench_dispatches {
    vkf_layer *layer;
    vkf_layer_sizes sizes;
    // Which dispatches count, by the last part of their labels; NULL: all.
    const char *const *counted_labels;
    size_t counted_label_count;
    bool timed; // the device has timestamps
    uint32_t count;
    vkf_timing *timings; // (count), of the last run
    double *best_ns;     // (count), over all runs
} vkf_bench_dispatches;

// Takes the layer over: vkf_bench_dispatches_end() destroys it.
vkf_bench_dispatches vkf_bench_dispatches_begin(vkf_context *context, vkf_layer *layer, const vkf_layer_sizes *sizes);
void vkf_bench_dispatches_end(vkf_bench_dispatches *dispatches);

// The functions of a vkf_bench_case, with a vkf_bench_dispatches as `user`.
vkf_status vkf_bench_dispatches_run(void *user, double *out_gpu_ns);
void vkf_bench_dispatches_variant(void *user, char *out_text, size_t size_bytes);

// A line per dispatch: label, kernel, shortest time.
void vkf_bench_dispatches_print(const vkf_bench_dispatches *dispatches);

#endif

// Random tensors for the benchmarks.
#ifndef VKF_PROGRAM_BENCH_DATA_H
#define VKF_PROGRAM_BENCH_DATA_H

#include <vkformer/vkformer.h>

#define VKF_BENCH_MAX_TENSORS 32

// A list of tensors that live and die together. The first failure stays in `status`, and later calls do nothing.
typedef struct vkf_bench_data {
    vkf_context *context;
    vkf_dtype dtype;
    uint64_t random; // state of the generator; not 0
    vkf_status status;
    uint32_t count;
    vkf_tensor tensors[VKF_BENCH_MAX_TENSORS];
    uint64_t bytes; // of all tensors
} vkf_bench_data;

vkf_bench_data vkf_bench_data_begin(vkf_context *context, vkf_dtype dtype);
void vkf_bench_data_end(vkf_bench_data *data);

// A new tensor of numbers from -amplitude to amplitude; {0} after a failure. An extent of 0 ends the shape.
vkf_tensor vkf_bench_random(vkf_bench_data *data, uint32_t extent0, uint32_t extent1, float amplitude);

// A weight matrix (out, in), scaled so that outputs are of the size of the inputs.
vkf_tensor vkf_bench_linear(vkf_bench_data *data, uint32_t out, uint32_t in);

// Overwrites an existing tensor, such as a layer's port.
void vkf_bench_fill(vkf_bench_data *data, const vkf_tensor *tensor, float amplitude);

#endif

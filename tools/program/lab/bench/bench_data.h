// Random tensors for the benchmarks.
#ifndef VKF_PROGRAM_BENCH_DATA_H
#define VKF_PROGRAM_BENCH_DATA_H

#include "lab/bench/bench_report.h"

#define VKF_BENCH_MAX_TENSORS 32

// A list of tensors that are destroyed together. The first failure stays in `status`, and later calls do nothing.
typedef struct vkf_bench_data {
    vkf_context *context;
    vkf_bench_types types;
    uint64_t random; // state of the generator; not 0
    vkf_status status;
    uint32_t count;
    vkf_tensor tensors[VKF_BENCH_MAX_TENSORS];
    double weight_bytes; // of the parameters made so far
} vkf_bench_data;

vkf_bench_data vkf_bench_data_begin(vkf_context *context, const vkf_bench_types *types);
void vkf_bench_data_end(vkf_bench_data *data);

// New activations: numbers from -1 to 1; {0} after a failure.
vkf_tensor vkf_bench_random(vkf_bench_data *data, uint32_t rank, const uint32_t *shape);

// A new vector of parameters, from -amplitude to amplitude.
vkf_tensor vkf_bench_vector(vkf_bench_data *data, uint32_t dim, float amplitude);

// A new weight matrix (rows, cols), scaled so that products over `depth` have the magnitude of the inputs.
vkf_tensor vkf_bench_matrix(vkf_bench_data *data, uint32_t rows, uint32_t cols, uint32_t depth);

// A new weight (out, in) in panels of blocks; `in` is a multiple of 32.
vkf_tensor vkf_bench_blocks(vkf_bench_data *data, uint32_t out, uint32_t in);

// The same in the layout that a Linear keeps, (out, in).
vkf_tensor vkf_bench_linear(vkf_bench_data *data, uint32_t out, uint32_t in);

// New parameters of a multi-head attention, biases included.
vkf_attention_weights vkf_bench_attention_weights(vkf_bench_data *data, uint32_t embed_dim);

// Overwrites an existing tensor, such as a layer's port.
void vkf_bench_fill(vkf_bench_data *data, const vkf_tensor *tensor, float amplitude);

#endif

// Makes random tensors, chunk by chunk.
#include "lab/bench/bench_data.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/blocks.h"
#include "base/half.h"

#define CHUNK 16384 // values written at a time, so that sizes are not bound by host memory

vkf_bench_data vkf_bench_data_begin(vkf_context *context, const vkf_bench_types *types)
{
    return (vkf_bench_data){.context = context, .types = *types, .random = UINT64_C(0x9e3779b97f4a7c15)};
}

void vkf_bench_data_end(vkf_bench_data *data)
{
    for (uint32_t i = 0; i < data->count; i++)
        vkf_tensor_destroy(&data->tensors[i]);
    *data = (vkf_bench_data){0};
}

// Marsaglia's xorshift64.
static float next_value(uint64_t *state, float amplitude)
{
    uint64_t x = *state;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *state = x;
    return ((float)(x >> 40) * 0x1p-23f - 1.0f) * amplitude;
}

void vkf_bench_fill(vkf_bench_data *data, const vkf_tensor *tensor, float amplitude)
{
    float values[CHUNK];
    uint16_t narrow[CHUNK];
    uint64_t total = 0;
    if (data->status == VKF_OK && !vkf_tensor_count(tensor, &total))
        data->status = VKF_ERROR_TOO_LARGE;
    size_t element_bytes = vkf_dtype_size(tensor->dtype);
    for (uint64_t done = 0; data->status == VKF_OK && done < total;) {
        size_t count = total - done < CHUNK ? (size_t)(total - done) : CHUNK;
        for (size_t i = 0; i < count; i++)
            values[i] = next_value(&data->random, amplitude);
        if (tensor->dtype == VKF_DTYPE_F16)
            vkf_f32_to_f16(values, narrow, count);
        for (size_t i = 0; tensor->dtype == VKF_DTYPE_BF16 && i < count; i++)
            narrow[i] = vkf__bfloat_from_float(values[i]);
        const void *elements = tensor->dtype == VKF_DTYPE_F32 ? (const void *)values : (const void *)narrow;
        data->status = vkf_buffer_write(tensor->buffer, tensor->offset_bytes + done * element_bytes, elements,
                                        count * element_bytes);
        done += count;
    }
}

static vkf_tensor make(vkf_bench_data *data, vkf_dtype dtype, uint32_t rank, const uint32_t *shape, float amplitude)
{
    vkf_tensor tensor = {0};
    assert(data->count < VKF_BENCH_MAX_TENSORS);
    if (data->status == VKF_OK)
        data->status = vkf_tensor_create(data->context, dtype, rank, shape, "bench", &tensor);
    if (data->status != VKF_OK)
        return (vkf_tensor){0};
    data->tensors[data->count++] = tensor;
    vkf_bench_fill(data, &tensor, amplitude);
    return tensor;
}

vkf_tensor vkf_bench_random(vkf_bench_data *data, uint32_t rank, const uint32_t *shape)
{
    return make(data, data->types.activations, rank, shape, 1.0f);
}

vkf_tensor vkf_bench_vector(vkf_bench_data *data, uint32_t dim, float amplitude)
{
    data->weight_bytes += (double)dim * (double)vkf_dtype_size(data->types.weights);
    return make(data, data->types.weights, 1, &dim, amplitude);
}

vkf_tensor vkf_bench_matrix(vkf_bench_data *data, uint32_t rows, uint32_t cols, uint32_t depth)
{
    const uint32_t shape[] = {rows, cols};
    data->weight_bytes += (double)rows * cols * (double)vkf_dtype_size(data->types.weights);
    return make(data, data->types.weights, 2, shape, sqrtf(3.0f / (float)depth));
}

// Writes the panel of rows [first, first + 32): values become blocks, and blocks a panel on the device.
static vkf_status write_panel(vkf_bench_data *data, const vkf_tensor *weight, uint32_t first, float *values,
                              uint8_t *blocks, uint8_t *panel)
{
    const uint32_t n = weight->shape[0], k = weight->shape[1];
    const uint32_t rows = n - first < VKF_BLOCK_PANEL ? n - first : VKF_BLOCK_PANEL;
    const size_t count = (size_t)rows * k, panel_bytes = (size_t)k * vkf_dtype_block_bytes(weight->dtype);
    for (size_t i = 0; i < count; i++)
        values[i] = next_value(&data->random, sqrtf(3.0f / (float)k));
    vkf__blocks_from_f32(weight->dtype, values, count / VKF_BLOCK, blocks);
    vkf__blocks_to_panels(weight->dtype, blocks, rows, k, panel);
    return vkf_buffer_write(weight->buffer, (uint64_t)(first / VKF_BLOCK_PANEL) * panel_bytes, panel, panel_bytes);
}

vkf_tensor vkf_bench_blocks(vkf_bench_data *data, uint32_t out, uint32_t in)
{
    vkf_tensor weight = {.dtype = data->types.weights, .rank = 2, .shape = {out, in}, .layout = VKF_LAYOUT_PANELS};
    const size_t panel_bytes = (size_t)in * vkf_dtype_block_bytes(weight.dtype);
    uint64_t bytes = 0;
    float *values = malloc((size_t)VKF_BLOCK_PANEL * in * sizeof *values);
    uint8_t *blocks = malloc(panel_bytes), *panel = malloc(panel_bytes);
    if (data->status == VKF_OK && (!values || !blocks || !panel))
        data->status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    if (data->status == VKF_OK && !vkf_tensor_bytes(&weight, &bytes))
        data->status = VKF_ERROR_INVALID_ARGUMENT;
    if (data->status == VKF_OK)
        data->status = vkf_buffer_create(data->context, bytes, "bench", &weight.buffer);
    if (data->status == VKF_OK)
        data->tensors[data->count++] = weight;
    for (uint32_t first = 0; data->status == VKF_OK && first < out; first += VKF_BLOCK_PANEL)
        data->status = write_panel(data, &weight, first, values, blocks, panel);
    data->weight_bytes += (double)bytes;
    free(values);
    free(blocks);
    free(panel);
    return data->status == VKF_OK ? weight : (vkf_tensor){0};
}

vkf_tensor vkf_bench_linear(vkf_bench_data *data, uint32_t out, uint32_t in)
{
    return vkf_bench_matrix(data, out, in, in);
}

vkf_attention_weights vkf_bench_attention_weights(vkf_bench_data *data, uint32_t embed_dim)
{
    return (vkf_attention_weights){
        .q_weight = vkf_bench_linear(data, embed_dim, embed_dim),
        .k_weight = vkf_bench_linear(data, embed_dim, embed_dim),
        .v_weight = vkf_bench_linear(data, embed_dim, embed_dim),
        .q_bias = vkf_bench_vector(data, embed_dim, 0.1f),
        .k_bias = vkf_bench_vector(data, embed_dim, 0.1f),
        .v_bias = vkf_bench_vector(data, embed_dim, 0.1f),
        .out_weight = vkf_bench_linear(data, embed_dim, embed_dim),
        .out_bias = vkf_bench_vector(data, embed_dim, 0.1f),
    };
}

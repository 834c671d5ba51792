// Packs and unpacks weights in blocks, and lays rows of blocks out as panels.
#include "base/blocks.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/half.h"

#define LARGEST_HALF 65504.0f
// Devices may read smaller halves as zeros.
#define LEAST_NORMAL_HALF 0x1p-14f

static uint16_t to_half(float value)
{
    return vkf__half_from_float(fmaxf(-LARGEST_HALF, fminf(LARGEST_HALF, value)));
}

static void put_half(uint8_t *at, uint16_t half)
{
    at[0] = (uint8_t)half;
    at[1] = (uint8_t)(half >> 8);
}

static uint16_t get_half(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

// Rounds to the nearest integer of lowest .. highest. A call of roundf() would cost more than all the rest.
static int nearest(float steps, float lowest, float highest)
{
    float q = steps < lowest ? lowest : steps > highest ? highest : steps;
    return (int)(q < 0 ? q - 0.5f : q + 0.5f);
}

// The scale of steps of this size: 0 where the whole block is one value, and a normal number otherwise.
static uint16_t to_scale(float step)
{
    return to_half(step > 0 ? fmaxf(step, LEAST_NORMAL_HALF) : 0);
}

static float inverse_of(float scale)
{
    return scale > 0 ? 1 / scale : 0;
}

static void q8_from_f32(const float *values, uint8_t *block)
{
    float largest = 0;
    for (int i = 0; i < VKF_BLOCK; i++)
        largest = fmaxf(largest, fabsf(values[i]));
    uint16_t half = to_scale(largest / 127);
    float inverse = inverse_of(vkf__float_from_half(half));
    put_half(block, half);
    for (int i = 0; i < VKF_BLOCK; i++)
        block[2 + i] = (uint8_t)nearest(values[i] * inverse, -127, 127);
}

static void q4_from_f32(const float *values, uint8_t *block)
{
    float least = values[0], most = values[0];
    for (int i = 1; i < VKF_BLOCK; i++) {
        least = fminf(least, values[i]);
        most = fmaxf(most, values[i]);
    }
    if (fabsf(least) < LEAST_NORMAL_HALF)
        least = least < 0 ? -LEAST_NORMAL_HALF : 0;
    uint16_t minimum_half = to_half(least);
    float minimum = vkf__float_from_half(minimum_half);
    uint16_t scale_half = to_scale((most - minimum) / 15);
    float inverse = inverse_of(vkf__float_from_half(scale_half));
    put_half(block, scale_half);
    put_half(block + 2, minimum_half);
    for (int i = 0; i < VKF_BLOCK; i += 2) {
        int low = nearest((values[i] - minimum) * inverse, 0, 15);
        int high = nearest((values[i + 1] - minimum) * inverse, 0, 15);
        block[4 + i / 2] = (uint8_t)(low | high << 4);
    }
}

static void q8_to_f32(const uint8_t *block, float *out_values)
{
    float scale = vkf__float_from_half(get_half(block));
    for (int i = 0; i < VKF_BLOCK; i++)
        out_values[i] = scale * (float)(int8_t)block[2 + i];
}

static void q4_to_f32(const uint8_t *block, float *out_values)
{
    float scale = vkf__float_from_half(get_half(block)), minimum = vkf__float_from_half(get_half(block + 2));
    for (int i = 0; i < VKF_BLOCK; i++)
        out_values[i] = minimum + scale * (float)(block[4 + i / 2] >> i % 2 * 4 & 15);
}

void vkf__blocks_from_f32(vkf_dtype dtype, const float *values, size_t block_count, void *out_blocks)
{
    assert(dtype == VKF_DTYPE_Q8 || dtype == VKF_DTYPE_Q4);
    uint8_t *blocks = out_blocks;
    for (size_t i = 0; i < block_count; i++) {
        if (dtype == VKF_DTYPE_Q8)
            q8_from_f32(values + i * VKF_BLOCK, blocks + i * VKF_Q8_BLOCK_BYTES);
        else
            q4_from_f32(values + i * VKF_BLOCK, blocks + i * VKF_Q4_BLOCK_BYTES);
    }
}

void vkf__blocks_to_f32(vkf_dtype dtype, const void *blocks, size_t block_count, float *out_values)
{
    assert(dtype == VKF_DTYPE_Q8 || dtype == VKF_DTYPE_Q4);
    const uint8_t *bytes = blocks;
    for (size_t i = 0; i < block_count; i++) {
        if (dtype == VKF_DTYPE_Q8)
            q8_to_f32(bytes + i * VKF_Q8_BLOCK_BYTES, out_values + i * VKF_BLOCK);
        else
            q4_to_f32(bytes + i * VKF_Q4_BLOCK_BYTES, out_values + i * VKF_BLOCK);
    }
}

void vkf__blocks_to_panel(vkf_dtype dtype, const void *rows, uint32_t row_count, uint32_t k, void *out_panel)
{
    assert((dtype == VKF_DTYPE_Q8 || dtype == VKF_DTYPE_Q4) && k % VKF_BLOCK == 0 && row_count <= VKF_BLOCK_PANEL);
    const size_t bytes = vkf_dtype_block_bytes(dtype), head_bytes = vkf__block_head_bytes(dtype);
    uint32_t tiles = k / VKF_BLOCK;
    memset(out_panel, 0, (size_t)tiles * VKF_BLOCK_PANEL * bytes);
    for (uint32_t column = 0; column < row_count; column++) {
        for (uint32_t tile = 0; tile < tiles; tile++) {
            const uint8_t *block = (const uint8_t *)rows + ((size_t)column * tiles + tile) * bytes;
            uint8_t *heads = (uint8_t *)out_panel + (size_t)tile * VKF_BLOCK_PANEL * bytes;
            uint8_t *words = heads + VKF_BLOCK_PANEL * head_bytes;
            memcpy(heads + column * head_bytes, block, head_bytes);
            for (size_t step = 0; step < (bytes - head_bytes) / 4; step++)
                memcpy(words + (step * VKF_BLOCK_PANEL + column) * 4, block + head_bytes + step * 4, 4);
        }
    }
}

// Packs and unpacks weights in blocks, and lays rows of blocks out as panels.
#include "base/blocks.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/parallel.h"

#define LARGEST_HALF 65504.0f
#define CHUNK_ELEMENTS (1u << 20)
#define PART_BLOCKS 2048u // that a thread converts at once, a millisecond's work
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

// Rounds to the nearest integer of lowest .. highest. A call of roundf() would cost more than all the rest, and so
// would branches.
static int nearest(float steps, float lowest, float highest)
{
    float q = steps < lowest ? lowest : steps;
    q = q > highest ? highest : q;
    return (int)(q + copysignf(0.5f, q));
}

// The scale of steps of this size: 0 where the block is zeros, and a normal number otherwise.
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
        largest = fabsf(values[i]) > largest ? fabsf(values[i]) : largest;
    uint16_t half = to_scale(largest / 127);
    float inverse = inverse_of(vkf__float_from_half(half));
    put_half(block, half);
    for (int i = 0; i < VKF_BLOCK; i++)
        block[VKF_BLOCK_HEAD_BYTES + i] = (uint8_t)nearest(values[i] * inverse, -127, 127);
}

static float scale_of_q4(uint16_t head)
{
    return vkf__float_from_half(head & 0xfff0);
}

// Scale and zero for steps of this size from `least` on.
static uint16_t to_q4_head(float step, float least)
{
    const uint16_t scale = (uint16_t)((to_scale(step) + 8) & ~15);
    return scale | (uint16_t)nearest(-least * inverse_of(scale_of_q4(scale)), 0, 15);
}

// The element that is nearest to a value, which comes divided by the scale.
static int q4_element(float steps, float zero)
{
    return nearest(steps + zero, 0, 15);
}

// The sum of squared errors with this head, by several sums that compilers take at once.
static float q4_error(const float *values, uint16_t head)
{
    const float scale = scale_of_q4(head), inverse = inverse_of(scale), zero = (float)(head & 15);
    float sums[4] = {0};
    for (int i = 0; i < VKF_BLOCK; i += 4) {
        for (int j = 0; j < 4; j++) {
            const float element = (float)q4_element(values[i + j] * inverse, zero);
            const float error = values[i + j] - scale * (element - zero);
            sums[j] += error * error;
        }
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The head with the least error of those for steps of the values' range, and of parts of it.
static uint16_t q4_best_head(const float *values)
{
    static const float parts[] = {1, 0.95f, 0.9f};
    const float end = LARGEST_HALF * 7;
    float least = 0, most = 0, least_error = INFINITY;
    uint16_t best = 0;
    for (int i = 0; i < VKF_BLOCK; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    least = fmaxf(least, -end);
    most = fminf(most, end);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const float range = most - least, cut = range * (1 - parts[i]) / 2;
        const uint16_t head = to_q4_head(range * parts[i] / 15, least + cut);
        const float error = q4_error(values, head);
        if (i == 0 || error < least_error) {
            best = head;
            least_error = error;
        }
    }
    return best;
}

static void q4_from_f32(const float *values, uint8_t *block)
{
    const uint16_t head = q4_best_head(values);
    const float inverse = inverse_of(scale_of_q4(head)), zero = (float)(head & 15);
    put_half(block, head);
    for (int i = 0; i < VKF_BLOCK; i += 2) {
        const int low = q4_element(values[i] * inverse, zero), high = q4_element(values[i + 1] * inverse, zero);
        block[VKF_BLOCK_HEAD_BYTES + i / 2] = (uint8_t)(low | high << 4);
    }
}

static void q8_to_f32(const uint8_t *block, float *out_values)
{
    float scale = vkf__float_from_half(get_half(block));
    for (int i = 0; i < VKF_BLOCK; i++)
        out_values[i] = scale * (float)(int8_t)block[VKF_BLOCK_HEAD_BYTES + i];
}

static void q4_to_f32(const uint8_t *block, float *out_values)
{
    const uint16_t head = get_half(block);
    const float scale = scale_of_q4(head);
    for (int i = 0; i < VKF_BLOCK; i++)
        out_values[i] = scale * (float)((block[VKF_BLOCK_HEAD_BYTES + i / 2] >> i % 2 * 4 & 15) - (head & 15));
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

// Values that become blocks on several threads, a part of the blocks on each.
typedef struct conversion {
    vkf_dtype dtype;
    const float *values;
    uint8_t *blocks;
    size_t count; // of blocks
} conversion;

static void convert_part(void *user, size_t index)
{
    const conversion *c = user;
    const size_t first = index * PART_BLOCKS, left = c->count - first;
    vkf__blocks_from_f32(c->dtype, c->values + first * VKF_BLOCK, left < PART_BLOCKS ? left : PART_BLOCKS,
                         c->blocks + first * vkf_dtype_block_bytes(c->dtype));
}

void vkf__blocks_from_f32_on_threads(vkf_dtype dtype, const float *values, size_t block_count, void *out_blocks)
{
    conversion c = {dtype, values, out_blocks, block_count};
    vkf__parallel_run(vkf__parallel_threads(), (block_count + PART_BLOCKS - 1) / PART_BLOCKS, convert_part, &c);
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

// Moves the head and the words of one block from its row to its column of a tile, or back.
static void move_block(size_t bytes, uint8_t *block, uint8_t *tile, uint32_t column, bool to_tile)
{
    const size_t head_bytes = VKF_BLOCK_HEAD_BYTES;
    uint8_t *head = tile + column * head_bytes, *words = tile + VKF_BLOCK_PANEL * head_bytes;
    memcpy(to_tile ? head : block, to_tile ? block : head, head_bytes);
    for (size_t step = 0; step < (bytes - head_bytes) / 4; step++) {
        uint8_t *word = words + (step * VKF_BLOCK_PANEL + column) * 4, *own = block + head_bytes + step * 4;
        memcpy(to_tile ? word : own, to_tile ? own : word, 4);
    }
}

static void move_rows(vkf_dtype dtype, uint8_t *rows, uint32_t row_count, uint32_t k, uint8_t *panels, bool to_panels)
{
    assert((dtype == VKF_DTYPE_Q8 || dtype == VKF_DTYPE_Q4) && k % VKF_BLOCK == 0);
    const size_t bytes = vkf_dtype_block_bytes(dtype), tiles = k / VKF_BLOCK;
    for (size_t row = 0; row < row_count; row++)
        for (size_t tile = 0; tile < tiles; tile++)
            move_block(bytes, rows + (row * tiles + tile) * bytes,
                       panels + (row / VKF_BLOCK_PANEL * tiles + tile) * VKF_BLOCK_PANEL * bytes, row % VKF_BLOCK_PANEL,
                       to_panels);
}

void vkf__blocks_to_panels(vkf_dtype dtype, const void *rows, uint32_t row_count, uint32_t k, void *out_panels)
{
    memset(out_panels, 0, (size_t)vkf__panels_of(row_count) * VKF_BLOCK_PANEL * vkf__block_row_bytes(dtype, k));
    move_rows(dtype, (uint8_t *)rows, row_count, k, out_panels, true);
}

void vkf__blocks_from_panels(vkf_dtype dtype, const void *panels, uint32_t row_count, uint32_t k, void *out_rows)
{
    move_rows(dtype, out_rows, row_count, k, (uint8_t *)panels, false);
}

uint32_t vkf__block_rows_at_once(uint32_t rows, uint32_t k)
{
    const uint32_t panels = CHUNK_ELEMENTS / VKF_BLOCK_PANEL / k;
    const uint32_t most = (panels > 0 ? panels : 1) * VKF_BLOCK_PANEL;
    return rows < most ? rows : most;
}

void vkf_f32_to_blocks(vkf_dtype dtype, const float *values, void *out_blocks, size_t block_count)
{
    if (vkf_dtype_block_elements(dtype) > 1 && values && out_blocks)
        vkf__blocks_from_f32_on_threads(dtype, values, block_count, out_blocks);
}

void vkf_blocks_to_f32(vkf_dtype dtype, const void *blocks, float *out_values, size_t block_count)
{
    if (vkf_dtype_block_elements(dtype) > 1 && blocks && out_values)
        vkf__blocks_to_f32(dtype, blocks, block_count, out_values);
}

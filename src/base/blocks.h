// Weights on the host in blocks of 32 elements, each with a scale of its own: VKF_DTYPE_Q8 and VKF_DTYPE_Q4.
#ifndef VKF_BASE_BLOCKS_H
#define VKF_BASE_BLOCKS_H

#include <vkformer/tensor.h>

#define VKF_BLOCK 32
// Files keep rows of blocks one after the other. Each block begins with its head, 16 bits, which are its scale, a half:
//   q8: 32 signed bytes                                  value = scale * q
//   q4: 16 bytes, element 2j in the lower nibble         value = scale * (q - zero)
// In q4 the lowest four bits of the head are the zero, and count as 0 in the scale.
#define VKF_BLOCK_HEAD_BYTES 2
#define VKF_Q8_BLOCK_BYTES 34
#define VKF_Q4_BLOCK_BYTES 18

// The bytes of an element; in blocks, its part of a block.
static inline double vkf__element_bytes(vkf_dtype dtype)
{
    if (dtype == VKF_DTYPE_Q8)
        return (double)VKF_Q8_BLOCK_BYTES / VKF_BLOCK;
    return dtype == VKF_DTYPE_Q4 ? (double)VKF_Q4_BLOCK_BYTES / VKF_BLOCK : (double)vkf_dtype_size(dtype);
}

// A panel has as many columns as a block has elements, so that it consists of square tiles of whole blocks:
//   q8: 32 heads, then (8 words of k, 32 columns): 4 signed bytes of one column to a word, the lowest byte first
//   q4: 32 heads, then (4 words of k, 32 columns): 8 nibbles to a word, the lowest first
#define VKF_BLOCK_PANEL 32

// Rounds each value to the nearest that its block can represent. In q8 the scale comes from the block's largest
// magnitude. In q4 scale and zero come from its range, 0 included, or from 0.95 or 0.9 of that if the sum of squared
// errors is less so: most values then have smaller steps, and the outermost are clamped. Values are finite; one beyond
// 127 (q8) or 7 (q4) times 65504 is clamped to that.
void vkf__blocks_from_f32(vkf_dtype dtype, const float *values, size_t block_count, void *out_blocks);
void vkf__blocks_from_f32_on_threads(vkf_dtype dtype, const float *values, size_t block_count, void *out_blocks);
void vkf__blocks_to_f32(vkf_dtype dtype, const void *blocks, size_t block_count, float *out_values);

// Bytes of a row of k elements.
static inline uint64_t vkf__block_row_bytes(vkf_dtype dtype, uint32_t k)
{
    return (uint64_t)k / VKF_BLOCK * vkf_dtype_block_bytes(dtype);
}

// How many rows of k elements are converted at once: all, or whole panels of about a million elements.
uint32_t vkf__block_rows_at_once(uint32_t rows, uint32_t k);
// The panels that `rows` rows fill.
static inline uint32_t vkf__panels_of(uint32_t rows)
{
    return (rows + VKF_BLOCK_PANEL - 1) / VKF_BLOCK_PANEL;
}

// Lays rows of k elements out as vkf__panels_of() panels, each of k / 32 tiles, with zeros in place of missing rows. k
// is a multiple of 32.
void vkf__blocks_to_panels(vkf_dtype dtype, const void *rows, uint32_t row_count, uint32_t k, void *out_panels);
// The rows of such panels.
void vkf__blocks_from_panels(vkf_dtype dtype, const void *panels, uint32_t row_count, uint32_t k, void *out_rows);

#endif

// Weights in blocks of 32 elements with a scale of their own, on the host: VKF_DTYPE_Q8 and VKF_DTYPE_Q4.
#ifndef VKF_BASE_BLOCKS_H
#define VKF_BASE_BLOCKS_H

#include <vkformer/tensor.h>

#define VKF_BLOCK 32
// Rows as files keep them: block after block, each a half as scale and then
//   q8: 32 signed bytes                                                      value = scale * q
//   q4: a half as minimum, then 16 bytes, element 2j in the lower nibble     value = minimum + scale * q
#define VKF_Q8_BLOCK_BYTES 34
#define VKF_Q4_BLOCK_BYTES 20

// What stands in front of a block's elements: its scale, and its minimum if it has one.
static inline size_t vkf__block_head_bytes(vkf_dtype dtype)
{
    return dtype == VKF_DTYPE_Q8 ? 2 : 4;
}

// Columns of a panel, as many as a block has elements, so that a panel is square tiles of whole blocks:
//   q8: 32 scales, then (8 words of k, 32 columns): 4 signed bytes of one column to a word, the lowest byte first
//   q4: (32 columns) of scale and minimum, then (4 words of k, 32 columns): 8 nibbles to a word, the lowest first
#define VKF_BLOCK_PANEL 32

// Each value to the nearest that its block can be, of a scale by the block's largest magnitude (q8) or its range (q4).
// Values are finite; what is beyond 65504 times the largest q of its block becomes that.
void vkf__blocks_from_f32(vkf_dtype dtype, const float *values, size_t block_count, void *out_blocks);
void vkf__blocks_to_f32(vkf_dtype dtype, const void *blocks, size_t block_count, float *out_values);

// Up to VKF_BLOCK_PANEL rows of k elements as one panel of k / 32 tiles, zeros in place of the rows that are not there.
// k is a multiple of 32.
void vkf__blocks_to_panel(vkf_dtype dtype, const void *rows, uint32_t row_count, uint32_t k, void *out_panel);

#endif

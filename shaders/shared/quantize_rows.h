// Activations in blocks of 32 elements along k, for products with weights in blocks (blocks.h) by integer dot products:
// x = scale * q, the scale being the block's largest magnitude over 127. A block that holds a NaN or an infinity has the
// scale NaN, so that what is made of it is NaN, too; one without an element beyond VKF_QUANTIZE_ROWS_LEAST is zeros.
//
// In words, a block is 8 of four signed bytes, the scale, scale * (sum of the q), and two that hold nothing, so that
// blocks begin at multiples of 16 bytes. The sum is what a weight's minimum is multiplied by. It is of the q, not of the
// x: a weight minimum + scale * q is near 0, and its two parts cancel. So do their errors, but only if both parts are
// multiplied by the same activations: of normal numbers the sum of the x leaves 2.8 times the error, of uniform ones 2.2.
//
// Bytes are in the order in which a weight's words have theirs: of q8 as they follow each other, of q4 the even ones of
// every 8 elements before the odd ones, because that is what masking a word of nibbles leaves.
//
// One invocation per VKF_QUANTIZE_ROWS_RUN elements; further ones do nothing.
#ifndef VKF_SHARED_QUANTIZE_ROWS_H
#define VKF_SHARED_QUANTIZE_ROWS_H

#include "types.h"

#define VKF_QUANTIZE_ROWS_BINDING_X 1
#define VKF_QUANTIZE_ROWS_BINDING_OUT 2

#define VKF_QUANTIZE_ROWS_SPEC_EVEN_ODD 1 // 1: for q4
#define VKF_QUANTIZE_ROWS_SPEC_COUNT 2

#define VKF_QUANTIZE_ROWS_RUN 4u
#define VKF_QUANTIZE_ROWS_DEPTH 32u // elements of a block
#define VKF_QUANTIZE_ROWS_WORDS 12u // of a block
#define VKF_QUANTIZE_ROWS_SCALE 8u  // where in a block it is
#define VKF_QUANTIZE_ROWS_SUM 9u
#define VKF_QUANTIZE_ROWS_LEAST 7.8886091e-31f // 2^-100: scales and what divides by them are normal numbers

// All strides in elements.
struct vkf_quantize_rows_params {
    vkf_u32 count; // invocations
    vkf_u32 m;     // rows of an entry of the batch
    vkf_u32 k;     // of a row, a multiple of VKF_QUANTIZE_ROWS_DEPTH
    vkf_u32 batch_inner;
    vkf_u32 x_first;
    vkf_u32 x_row;
    vkf_u32 x_outer;
    vkf_u32 x_inner;
};
VKF_SHARED_SIZE(vkf_quantize_rows_params, 8)

#endif

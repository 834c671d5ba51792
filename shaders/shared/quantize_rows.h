// Activations in blocks of 32 elements along k, for products with weights in blocks (blocks.h) by integer dot products:
// x = scale * q, the scale being the block's largest magnitude over 127. A block that holds a NaN or an infinity has
// the scale NaN, so that its products are NaN, too. A block without an element beyond VKF_QUANTIZE_ROWS_LEAST is zeros.
//
// A block is 12 words: 8 of four signed bytes each, the scale, scale * (sum of the q), and two unused ones, so that
// blocks begin at multiples of 16 bytes. A weight's minimum, -scale * zero, is multiplied by that sum. It sums the q,
// not the x, because a weight minimum + scale * q is near 0: its two parts cancel, and so do their errors, but only if
// both parts are multiplied by the same activations. With the sum of the x the error is 2.8 times as large for normal
// numbers, and 2.2 times for uniform ones.
//
// Bytes have the order of a weight's words. For q8 they follow each other; for q4 the even ones of every 8 elements
// come before the odd ones, because that is what masking a word of nibbles leaves.
//
// With NORM, rows are normalised first, as layer_norm.h has it, with RMS or without. Weight and bias of the norm lie in
// one operand.
//
// With GATE, rows are those of gate.h, 2 k elements each, and activation(x[:, :k]) * x[:, k:] is rounded.
//
// There is one invocation per VKF_QUANTIZE_ROWS_RUN elements; further ones do nothing.
#ifndef VKF_SHARED_QUANTIZE_ROWS_H
#define VKF_SHARED_QUANTIZE_ROWS_H

#include "types.h"

#define VKF_QUANTIZE_ROWS_BINDING_X 1
#define VKF_QUANTIZE_ROWS_BINDING_OUT 2
#define VKF_QUANTIZE_ROWS_BINDING_NORM 3 // its weight and its bias, (k) each

#define VKF_QUANTIZE_ROWS_SPEC_EVEN_ODD 1 // 1: for q4
#define VKF_QUANTIZE_ROWS_SPEC_NORM 2     // VKF_GEMM_NORM_*
#define VKF_QUANTIZE_ROWS_SPEC_GATE 3     // 1: see above; then there is no NORM
#define VKF_QUANTIZE_ROWS_SPEC_ACTIVATION 4
#define VKF_QUANTIZE_ROWS_SPEC_COUNT 5

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
    vkf_f32 norm_eps;
    vkf_u32 norm_weight_first; // where in their operand they begin
    vkf_u32 norm_bias_first;
};
VKF_SHARED_SIZE(vkf_quantize_rows_params, 11)

#endif

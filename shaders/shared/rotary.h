// Rotary position embedding (RoFormer, Su et al. 2021) of the heads of queries and keys, in the half-split order of
// transformers' rotate_half. With r = rotary_dim, and the cosine c and the sine s of the position's angle i, where
// i < r / 2:
//
//   out[i] = x[i] c - x[i + r / 2] s        out[i + r / 2] = x[i + r / 2] c + x[i] s
//
// Elements from r on pass unchanged. With a sine factor of -1 heads are turned back, which is the backward pass of
// turning them. With a weight each head is RMS-normalised first: x / sqrt(mean(x^2) + eps) * weight.
//
// A position of x has q_heads heads of queries, k_heads of keys and v_heads of values side by side, any of which may be
// 0. Queries are turned in place, keys on their way to out, and values go to out as they are. A row is one head of one
// position: element (b, t, h, i) of x stands at x_first + b * x_batch + t * x_row + h * head_dim + i. That of the keys
// in out, which may be x, stands at k_first + b * out_batch + t * out_row + h * head_dim + i, that of the values at
// v_first and so on.
#ifndef VKF_SHARED_ROTARY_H
#define VKF_SHARED_ROTARY_H

#include "types.h"

#define VKF_ROTARY_BINDING_X 1
#define VKF_ROTARY_BINDING_OUT 2
#define VKF_ROTARY_BINDING_TABLE 3  // (positions, rotary_dim) f32: the cosines of a position, then its sines
#define VKF_ROTARY_BINDING_WEIGHT 4 // (head_dim) for queries, and from k_weight on for keys; a VKF_ROTARY_WEIGHT_* type

#define VKF_ROTARY_SPEC_WEIGHT 1
#define VKF_ROTARY_SPEC_HAS_TABLE 2
#define VKF_ROTARY_SPEC_COUNT 3

#define VKF_ROTARY_WEIGHT_NONE 0
#define VKF_ROTARY_WEIGHT_F32 1
#define VKF_ROTARY_WEIGHT_F16 2
#define VKF_ROTARY_WEIGHT_BF16 3

struct vkf_rotary_params {
    vkf_u32 rows; // batch * len * heads
    vkf_u32 len;
    vkf_u32 heads; // q_heads + k_heads + v_heads
    vkf_u32 q_heads;
    vkf_u32 k_heads;
    vkf_u32 head_dim;
    vkf_u32 rotary_dim; // even, at most head_dim
    vkf_u32 first_position;
    vkf_u32 x_first;
    vkf_u32 x_batch;
    vkf_u32 x_row;
    vkf_u32 k_first;
    vkf_u32 v_first;
    vkf_u32 out_batch;
    vkf_u32 out_row;
    vkf_u32 k_weight;
    vkf_f32 eps;
    vkf_f32 sine_factor; // 1 or -1
};
VKF_SHARED_SIZE(vkf_rotary_params, 18)

#endif

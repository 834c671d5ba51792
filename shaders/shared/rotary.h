// Rotary position embedding (RoFormer, Su et al. 2021) of the heads of queries and keys. With r = rotary_dim, and the
// cosine c and the sine s of the position's angle i, where i < r / 2:
//
//   out[low] = x[low] c - x[high] s        out[high] = x[high] c + x[low] s
//
// A pair is low = i and high = i + r / 2, the half-split order of transformers' rotate_half, or with INTERLEAVED
// low = 2 i and high = 2 i + 1. Elements from r on pass unchanged. With a sine factor of -1 heads are turned back,
// which is the backward pass of turning them. With a weight each head is RMS-normalised first:
// x / sqrt(mean(x^2) + eps) * weight.
//
// A position of x has q_heads heads of queries, k_heads of keys and v_heads of values side by side, any of which may be
// 0. Queries are turned in place, keys on their way to out, and values go to out as they are. A row is one head of one
// position: element (b, t, h, i) of x stands at x_first + b * x_batch + t * x_row + h * head_dim + i. That of the keys
// in out, which may be x, stands at k_first + b * out_batch + t * out_row + h * head_dim + i, that of the values at
// v_first and so on.
//
// Position t of every sequence is first_position + t or, with POSITIONS, positions[s, b / position_share, t]. The angle
// is in its row of the table; beyond table_rows cosine and sine are 0. s is 0 or, with sections, that of the pair: with
// j = i modulo the sum of the four sections, pairs in sections one after the other read s = 0 .. 3; in turns, pair j
// reads s = j % 3 where j < 3 * section[s], and section_rest otherwise.
#ifndef VKF_SHARED_ROTARY_H
#define VKF_SHARED_ROTARY_H

#include "types.h"

#define VKF_ROTARY_BINDING_X 1
#define VKF_ROTARY_BINDING_OUT 2
#define VKF_ROTARY_BINDING_TABLE 3 // (positions, rotary_dim) f32: the cosines of a position, then its sines
// (head_dim) for queries, and from k_weight on for keys; a VKF_ROTARY_WEIGHT_* type. Without a weight it is the
// positions, i32: five operands are more than some devices bind.
#define VKF_ROTARY_BINDING_WEIGHT 4

#define VKF_ROTARY_SPEC_WEIGHT 1
#define VKF_ROTARY_SPEC_HAS_TABLE 2
#define VKF_ROTARY_SPEC_POSITIONS 3 // VKF_ROTARY_POSITIONS_*
#define VKF_ROTARY_SPEC_INTERLEAVED 4
#define VKF_ROTARY_SPEC_COUNT 5

#define VKF_ROTARY_WEIGHT_NONE 0
#define VKF_ROTARY_WEIGHT_F32 1
#define VKF_ROTARY_WEIGHT_F16 2
#define VKF_ROTARY_WEIGHT_BF16 3

#define VKF_ROTARY_POSITIONS_FIRST 0 // none: first_position + t
#define VKF_ROTARY_POSITIONS_EACH 1
#define VKF_ROTARY_POSITIONS_SECTIONS 2
#define VKF_ROTARY_POSITIONS_TURNS 3 // sections in turns

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
    // With positions alone:
    vkf_u32 position_share; // entries of the batch that share theirs
    vkf_u32 table_rows;
    vkf_u32 section_stride; // elements from the positions of one section to those of the next
    vkf_u32 section_0;
    vkf_u32 section_1;
    vkf_u32 section_2;
    vkf_u32 section_3;
    vkf_u32 section_rest;
};
VKF_SHARED_SIZE(vkf_rotary_params, 26)

#endif

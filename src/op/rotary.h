// Rotary position embedding of query and key heads, with an optional RMSNorm of each head before it, and the way of
// keys and values into the cache.
#ifndef VKF_OP_ROTARY_H
#define VKF_OP_ROTARY_H

#include "op/operand.h"

// Positions that a caller says, instead of those that follow each other from first_position on.
typedef struct vkf__rotary_positions {
    vkf__span span;         // (sections or 1, batch / share, len) I32; absent: none
    uint32_t share;         // so many entries of the batch, one after another, have the same
    uint32_t table_rows;    // a position that the table has not turns pairs to zeros
    uint32_t sections[4];   // pairs that read the same row of positions; zeros: all read the only one
    uint32_t section_count; // rows of positions: 1 to 4
    bool in_turns;          // of the first three sections each has every third pair, as long as it has any
} vkf__rotary_positions;

// The heads of queries, keys and values lie side by side in the rows of x, see shared/rotary.h. Any of the three may be
// missing.
typedef struct vkf__rotary_args {
    const char *label;
    vkf__span x;   // element (b, t, h, i) at x_first + b * x_batch + t * x_row + h * head_dim + i; queries stay here
    vkf__span out; // the keys begin at k_first, the values at v_first, with out_batch and out_row; may be x for keys
    // (positions, rotary_dim) f32: for each position rotary_dim / 2 cosines, then as many sines. Absent: nothing is
    // rotated.
    vkf__span table;
    // Optional: each head of queries and keys is RMS-normalised first. The queries' (head_dim) come first, the keys'
    // begin at k_weight.
    vkf__span weight;
    uint32_t k_weight;
    vkf__rotary_positions positions; // without a weight
    uint32_t batch, len;             // 0 skips it in this run
    uint32_t q_heads, k_heads, v_heads, head_dim;
    uint32_t rotary_dim;     // even, at most head_dim: the elements of a head that are rotated; the rest pass unchanged
    uint32_t first_position; // of t = 0
    uint32_t x_first, x_batch, x_row, k_first, v_first, out_batch, out_row;
    float eps;
    bool interleaved; // elements 2 i and 2 i + 1 are a pair, rather than i and i + rotary_dim / 2
    bool inverse;     // turns by the negative angles: the backward pass of a rotation; without a weight
} vkf__rotary_args;

// Status TOO_LARGE for more than 2^32 - 1 heads in all positions.
VKF_MUST_CHECK vkf_status vkf__emit_rotary(vkf__work *work, const vkf__rotary_args *args);

#endif

// Rotary position embedding of query and key heads, with an optional RMSNorm of each head before it.
#ifndef VKF_OP_ROTARY_H
#define VKF_OP_ROTARY_H

#include "op/operand.h"

typedef struct vkf__rotary_args {
    const char *label;
    vkf__span x;   // element (b, t, h, i) at x_first + b * x_batch + t * x_row + h * head_dim + i
    vkf__span out; // the same with out_first, out_batch, out_row; may be x where the strides are the same
    // (positions, rotary_dim) f32: for each position rotary_dim / 2 cosines, then as many sines. Absent: nothing is
    // rotated.
    vkf__span table;
    vkf__span weight;                     // optional, (head_dim): each head is RMS-normalised first
    uint32_t batch, len, heads, head_dim; // batch or len 0 skips it in this run
    uint32_t rotary_dim;     // even, at most head_dim: the elements of a head that are rotated; the rest pass unchanged
    uint32_t first_position; // of t = 0
    uint32_t x_first, x_batch, x_row, out_first, out_batch, out_row;
    float eps;
} vkf__rotary_args;

// Status TOO_LARGE for more than 2^32 - 1 heads in all positions.
VKF_MUST_CHECK vkf_status vkf__emit_rotary(vkf__work *work, const vkf__rotary_args *args);

#endif

// Strided copies that convert between storage types, out = alpha * x + beta * out; and the mean over heads.
#ifndef VKF_OP_COPY_H
#define VKF_OP_COPY_H

#include "op/operand.h"

// x or out may be rows of q8, and the other f32. Where out is, alpha is 1, beta 0, and whatever counts elements of out
// counts whole blocks.
// On either side element (o, r, c) stands at first + o * outer + r * row + c. Strides are in elements; 0 broadcasts.
typedef struct vkf__copy_args {
    const char *label;
    vkf__span x; // not read when alpha is 0
    vkf__span out;
    uint32_t outer, rows, cols; // a 0 among them skips the copy in this run
    uint32_t x_first, x_outer, x_row;
    uint32_t out_first, out_outer, out_row;
    float alpha, beta;
} vkf__copy_args;
VKF_MUST_CHECK vkf_status vkf__emit_copy(vkf__work *work, const vkf__copy_args *args);
// Of `count` elements that lie behind each other on both sides.
static inline vkf__copy_args vkf__copy_all(const char *label, vkf__span x, vkf__span out, uint32_t count)
{
    return (vkf__copy_args){.label = label, .x = x, .out = out, .outer = 1, .rows = 1, .cols = count, .alpha = 1.0f};
}
// Puts a copy in f32, which lies as it does, in the place of an operand.
VKF_MUST_CHECK vkf_status vkf__emit_widened(vkf__work *work, const char *label, vkf__span *inout_span);
// Fills (outer, rows, cols) with zeros.
VKF_MUST_CHECK vkf_status vkf__emit_zeros(vkf__work *work, const char *label, const vkf__span *out, uint32_t outer,
                                          uint32_t rows, uint32_t cols);

typedef struct vkf__head_mean_args {
    const char *label;
    vkf__span x;   // (batch, heads, plane) f32
    vkf__span out; // (batch, plane) f32
    uint32_t batch, heads, plane;
} vkf__head_mean_args;
VKF_MUST_CHECK vkf_status vkf__emit_head_mean(vkf__work *work, const vkf__head_mean_args *args);

#endif

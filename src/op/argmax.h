// Argmax over rows: out[row * out_stride + out_first] = index of the largest of x[row, :].
#ifndef VKF_OP_ARGMAX_H
#define VKF_OP_ARGMAX_H

#include "op/operand.h"

typedef struct vkf__argmax_args {
    const char *label;
    vkf__span x;   // (rows, cols)
    vkf__span out; // i32
    uint32_t rows, cols;
    uint32_t out_stride, out_first;
    bool last; // of equals; false: the first
} vkf__argmax_args;
VKF_MUST_CHECK vkf_status vkf__emit_argmax(vkf__work *work, const vkf__argmax_args *args);

#endif

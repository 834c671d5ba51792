// dx = scale * y * (dout - sum(y * dout)) over rows: the gradient of y = softmax(scale * x), masked or not.
#ifndef VKF_OP_SOFTMAX_GRAD_H
#define VKF_OP_SOFTMAX_GRAD_H

#include "op/operand.h"

typedef struct vkf__softmax_grad_args {
    const char *label;
    vkf__span y;         // (rows, cols) f32: softmax's result. Where it is 0, as behind a mask, dx is 0
    vkf__span dout;      // (rows, cols) f32; may be NaN where y is 0
    vkf__span dx;        // (rows, cols) f32; may be dout or y
    uint32_t rows, cols; // rows 0 skips it in this run
    float scale;
} vkf__softmax_grad_args;

// Status TOO_LARGE for operands beyond the device's limits.
VKF_MUST_CHECK vkf_status vkf__emit_softmax_grad(vkf__work *work, const vkf__softmax_grad_args *args);

#endif

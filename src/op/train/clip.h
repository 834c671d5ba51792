// The norm of all gradients, and the factor that optimisers multiply them by, without a way to the host.
#ifndef VKF_OP_CLIP_H
#define VKF_OP_CLIP_H

#include "op/operand.h"

typedef struct vkf__clip_args {
    const char *label;
    vkf__span squares; // (count): the sum of squares of each gradient, as vkf__emit_total() gives it
    vkf__span out;     // (2): the factor, then the norm. Both are of gradients without the loss scale.
    uint32_t count;    // 0 skips it in this run
    float max_norm;    // 0: gradients are as long as they are
    float loss_scale;  // by which the gradients are too large; 1: they are not
} vkf__clip_args;

// Where a gradient is NaN or infinite, or so large that its square is, the factor is 0, with which optimisers leave all
// as it is, and the norm is not finite: the host then looks for the tensor among `squares`. Status TOO_LARGE for more
// than 2^20 tensors.
VKF_MUST_CHECK vkf_status vkf__emit_clip(vkf__work *work, const vkf__clip_args *args);

#endif

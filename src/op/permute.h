// Head split and merge: out[b, c, r, :] = x[b, r, c, :].
#ifndef VKF_OP_PERMUTE_H
#define VKF_OP_PERMUTE_H

#include "op/operand.h"

typedef struct vkf__permute_args {
    const char *label;
    vkf__span x;   // (batch, rows, cols, depth)
    vkf__span out; // (batch, cols, rows, depth)
    uint32_t batch, rows, cols, depth;
} vkf__permute_args;
VKF_MUST_CHECK vkf_status vkf__emit_permute(vkf__work *work, const vkf__permute_args *args);

#endif

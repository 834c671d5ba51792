// One vector for each sequence, from the hidden states of its positions.
#ifndef VKF_OP_POOL_H
#define VKF_OP_POOL_H

#include <vkformer/model.h>

#include "op/operand.h"

typedef struct vkf__pool_args {
    const char *label;
    vkf__span x;       // (batch, len, dim)
    vkf__span lengths; // (batch) i32
    vkf__span out;     // (batch, dim) f32
    uint32_t batch, len, dim;
    vkf_pooling pooling;
    bool normalise;
} vkf__pool_args;
VKF_MUST_CHECK vkf_status vkf__emit_pool(vkf__work *work, const vkf__pool_args *args);

#endif

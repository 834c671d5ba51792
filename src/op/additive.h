// Additive attention scores: out[b, t, s] = v . tanh(query[b, t] + key[b, s]).
#ifndef VKF_OP_ADDITIVE_H
#define VKF_OP_ADDITIVE_H

#include "op/operand.h"

typedef struct vkf__additive_args {
    const char *label;
    vkf__span query; // (batch, q_len, dim)
    vkf__span key;   // (batch, k_len, dim)
    vkf__span v;     // (dim)
    vkf__span out;   // (batch, q_len, k_len)
    uint32_t batch, q_len, k_len, dim;
} vkf__additive_args;
VKF_MUST_CHECK vkf_status vkf__emit_additive(vkf__work *work, const vkf__additive_args *args);

#endif

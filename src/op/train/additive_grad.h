// The backward pass of the scores of additive attention (op/additive.h). shared/additive_grad.h says how.
#ifndef VKF_OP_ADDITIVE_GRAD_H
#define VKF_OP_ADDITIVE_GRAD_H

#include "op/operand.h"

// All of one type.
typedef struct vkf__additive_grad_args {
    const char *label;
    vkf__span query;                   // (batch, q_len, dim)
    vkf__span key;                     // (batch, k_len, dim)
    vkf__span v;                       // (dim)
    vkf__span dscores;                 // (batch, q_len, k_len)
    vkf__span dquery, dkey, dv;        // of the same shapes; overlap nothing
    uint32_t batch, q_len, k_len, dim; // batch 0 skips it in this run
    // Adds to what dquery, dkey or dv holds, which is else not read.
    bool accumulate_query, accumulate_key, accumulate_v;
} vkf__additive_grad_args;

// Status TOO_LARGE for more than 2^32 - 1 scores or elements, or more than 262,136 queries of all entries or keys.
VKF_MUST_CHECK vkf_status vkf__emit_additive_grad(vkf__work *work, const vkf__additive_grad_args *args);

#endif

// Pooling: one vector per sequence, from the hidden states of its positions. shared/pool.h says how.
#ifndef VKF_OP_POOL_H
#define VKF_OP_POOL_H

#include <vkformer/model.h>

#include "op/op_info.h"
#include "op/operand.h"

typedef struct vkf__pool_args {
    const char *label;
    vkf__span x;       // (batch, len, dim)
    vkf__span lengths; // (batch) i32
    vkf__span out;     // (batch, dim) f32, rows out_row apart
    uint32_t batch, len, dim;
    uint32_t first;   // positions before it do not count
    uint32_t out_row; // elements from one row of out to the next; 0: dim
    vkf_pooling pooling;
    bool normalise;
} vkf__pool_args;
VKF_MUST_CHECK vkf_status vkf__emit_pool(vkf__work *work, const vkf__pool_args *args);

// For the references of pooling and of its backward pass, whose bindings and constants are the same: how many of `len`
// positions a sequence has, and what one of its columns is pooled to, which begins at element `column` of x. For MAX,
// NaN is the largest value.
uint32_t vkf__pool_length(const vkf__execution *e, uint64_t b, uint32_t len);
double vkf__pooled(const vkf__execution *e, uint32_t first_counted, uint32_t dim, uint64_t column, uint32_t length);

#endif

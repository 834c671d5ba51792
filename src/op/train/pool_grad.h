// The backward pass of pooling (op/pool.h). shared/pool_grad.h says how.
#ifndef VKF_OP_POOL_GRAD_H
#define VKF_OP_POOL_GRAD_H

#include <vkformer/model.h>

#include "op/operand.h"

typedef struct vkf__pool_grad_args {
    const char *label;
    vkf__span x;              // (batch, len, dim) f32, what was pooled
    vkf__span lengths;        // (batch) i32
    vkf__span dout;           // (batch, dim) f32, rows dout_row apart
    vkf__span dx;             // (batch, len, dim) f32; does not overlap the others
    uint32_t batch, len, dim; // batch or len 0 skips it in this run
    uint32_t first;           // positions before it do not count
    uint32_t dout_row;        // elements from one row of dout to the next; 0: dim
    vkf_pooling pooling;
    bool normalise;
    bool accumulate; // adds to dx, which is else not read
} vkf__pool_grad_args;

// Status TOO_LARGE for more than 2^32 - 1 elements of x, or more than 524,272 positions.
VKF_MUST_CHECK vkf_status vkf__emit_pool_grad(vkf__work *work, const vkf__pool_grad_args *args);

#endif

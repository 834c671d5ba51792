// The backward pass of token embedding: the gradient of a table is, for each id, the sum over its tokens. With the ids
// of positions it is that of a table of positions.
#ifndef VKF_OP_EMBED_GRAD_H
#define VKF_OP_EMBED_GRAD_H

#include "base/train/id_order.h"
#include "op/operand.h"

typedef struct vkf__embed_grad_args {
    const char *label;
    vkf__span dout;         // (tokens, dim)
    vkf__span lists;        // i32, (3 * tokens + 1), as vkf__id_order() makes them from the ids of this run
    vkf__span dtable;       // (vocab, dim), of the type of dout
    uint32_t tokens, dim;   // tokens 0: the lists are empty
    uint32_t unique, vocab; // unique: what vkf__id_order() returned; to plan, the largest number possible
    float scale;            // that of the embedding
    bool accumulate;        // adds to dtable, which is else not read; its rows whose id does not occur become zeros
} vkf__embed_grad_args;

// A table that exceeds what the device binds is cut into slices of rows. Status TOO_LARGE for more than 524,272 tokens,
// all of which may have one id.
VKF_MUST_CHECK vkf_status vkf__emit_embed_grad(vkf__work *work, const vkf__embed_grad_args *args);

#endif

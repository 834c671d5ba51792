// The backward pass of token embedding (shared/embed.h). For each id that occurs, the rows of its tokens are summed:
//
//   dtable[ids[u], :] += scale * sum over i in starts[u] .. starts[u + 1] of dout[order[i], :]
//
// The lists that the host makes (id_order.h) lie in one buffer, first order, then starts and ids. They fix the order of
// each sum, so that it is the same in every run. A workgroup takes VKF_PART_EACH columns of a row for each of
// its invocations, and the grid runs over the parts of a row first. A table larger than a binding may be is cut into
// slices of rows, and a dispatch adds only to those in its slice. With clears, rows of the slice become zeros instead.
#ifndef VKF_SHARED_EMBED_GRAD_H
#define VKF_SHARED_EMBED_GRAD_H

#include "types.h"

#define VKF_EMBED_GRAD_BINDING_DOUT 1
#define VKF_EMBED_GRAD_BINDING_LISTS 2 // i32
#define VKF_EMBED_GRAD_BINDING_DTABLE 3

#define VKF_EMBED_GRAD_SPEC_COUNT 1

#define VKF_EMBED_GRAD_UNROLL 8 // tokens per iteration

struct vkf_embed_grad_params {
    vkf_u32 rows; // ids that occur, or rows of the slice that become zeros
    vkf_u32 dim;
    vkf_u32 starts_first; // in lists
    vkf_u32 ids_first;
    vkf_u32 slice_begin; // first row of the bound slice
    vkf_u32 slice_end;
    vkf_u32 clears;
    vkf_f32 scale;
};
VKF_SHARED_SIZE(vkf_embed_grad_params, 8)

#endif

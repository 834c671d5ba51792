// The backward pass of pooling (shared/pool.h): every position of a sequence gets dout times what it counts for.
//
// It has one phase or two. With NORMALISE, or for MAX, whose positions have to be found, a workgroup first takes a
// sequence and prepares, in (2, batch, dim), the gradient of what was pooled, and the position of the largest value of
// each column, as a float: the first of equals, or of NaN. With y = v / n, v being what was pooled and n its length,
//
//   dv = (dout - y (y . dout)) / n
//
// or dout / 1e-12 where n is not above 1e-12; NaN if the sum of squares is not finite. The last phase hands out what
// was prepared, or dout itself: a workgroup takes VKF_PART_EACH columns of a position for each of its invocations.
// Positions that do not count get 0, whatever x holds there.
#ifndef VKF_SHARED_POOL_GRAD_H
#define VKF_SHARED_POOL_GRAD_H

#include "pool.h"

#define VKF_POOL_GRAD_BINDING_X 1
#define VKF_POOL_GRAD_BINDING_LENGTHS 2 // i32
#define VKF_POOL_GRAD_BINDING_DOUT 3    // f32; in the last phase what the first has prepared, if there is one
#define VKF_POOL_GRAD_BINDING_DX 4      // f32; in the first phase what it prepares

#define VKF_POOL_GRAD_SPEC_MODE 1 // a VKF_POOL_*
#define VKF_POOL_GRAD_SPEC_NORMALISE 2
#define VKF_POOL_GRAD_SPEC_COUNT 3

struct vkf_pool_grad_params {
    vkf_u32 batch;
    vkf_u32 len;
    vkf_u32 dim;
    vkf_u32 first;       // positions before it do not count
    vkf_u32 dout_stride; // elements from a row of dout to the next
    vkf_u32 prepares;
    vkf_u32 accumulate; // of the last phase: adds to dx, which is else not read
};
VKF_SHARED_SIZE(vkf_pool_grad_params, 7)

#endif

// One vector for each sequence: out[b, :] = pooled x[b, first .. lengths[b], :]. A workgroup takes a sequence. With
// NORMALISE the vector is divided by its Euclidean length, or by 1e-12 if that is larger; it is NaN if the sum of its
// squares is not finite. For MAX, NaN is the largest value. A length beyond len counts as len. If no position is left,
// the vector is zeros, except with FIRST, which gives x[b, 0, :] for any length above 0.
#ifndef VKF_SHARED_POOL_H
#define VKF_SHARED_POOL_H

#include "types.h"

#define VKF_POOL_BINDING_X 1
#define VKF_POOL_BINDING_LENGTHS 2 // i32
#define VKF_POOL_BINDING_OUT 3     // f32

#define VKF_POOL_SPEC_MODE 1
#define VKF_POOL_SPEC_NORMALISE 2
#define VKF_POOL_SPEC_COUNT 3

// The values of vkf_pooling.
#define VKF_POOL_MEAN 0
#define VKF_POOL_MEAN_SQRT 1 // the sum divided by the root of the length
#define VKF_POOL_FIRST 2
#define VKF_POOL_LAST 3
#define VKF_POOL_MAX 4
#define VKF_POOL_WEIGHTED_MEAN 5 // position t, counted from 0, weighs t + 1

struct vkf_pool_params {
    vkf_u32 batch;
    vkf_u32 len;
    vkf_u32 dim;
    vkf_u32 first;      // positions before it do not count
    vkf_u32 out_stride; // elements from a row of out to the next
};
VKF_SHARED_SIZE(vkf_pool_params, 5)

#endif

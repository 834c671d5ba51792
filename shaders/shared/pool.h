// One vector for each sequence: out[b, :] = pooled x[b, 0 .. lengths[b], :], a workgroup to a sequence. With NORMALISE the
// vector is divided by its Euclidean length, or by 1e-12 where that is less. A length beyond len counts as len; below 1
// it gives zeros.
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

struct vkf_pool_params {
    vkf_u32 batch;
    vkf_u32 len;
    vkf_u32 dim;
};
VKF_SHARED_SIZE(vkf_pool_params, 3)

#endif

// out = residual + (kept ? x * scale : 0), element by element; residual is optional, and out may be x or residual.
// Applied to the gradient of out with the same seed, stream and step, it is its own backward pass.
//
// Element i is kept when word i % 4 of Philox4x32-10, of the counter (i / 4, 0, stream, step) under the seed as its
// key, is not below threshold, which is the probability of being dropped in multiples of 2^-32. scale is 1 over the
// probability of being kept, or 0 where everything is dropped, which no threshold says. What is dropped is not
// multiplied, so that it may be no number.
//
// An invocation takes four elements, which share their random words.
#ifndef VKF_SHARED_DROPOUT_H
#define VKF_SHARED_DROPOUT_H

#include "types.h"

#define VKF_DROPOUT_BINDING_X 1
#define VKF_DROPOUT_BINDING_RESIDUAL 2
#define VKF_DROPOUT_BINDING_OUT 3

#define VKF_DROPOUT_SPEC_HAS_RESIDUAL 1
#define VKF_DROPOUT_SPEC_COUNT 2

struct vkf_dropout_params {
    vkf_u32 count;
    vkf_u32 threshold;
    vkf_u32 stream;
    vkf_u32 step;
    vkf_u32 seed_low;
    vkf_u32 seed_high;
    vkf_f32 scale;
};
VKF_SHARED_SIZE(vkf_dropout_params, 7)

#endif

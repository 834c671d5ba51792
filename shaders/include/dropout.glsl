// Which elements dropout keeps. Included by kernels that enable GL_EXT_control_flow_attributes.
#ifndef VKF_DROPOUT_GLSL
#define VKF_DROPOUT_GLSL

#include "philox.glsl"

// Four neighbours at once, each of which is dropped with a probability of threshold / 2^32. The counter tells the four
// from all others, see shared/dropout.h.
bvec4 dropout_keeps(uvec4 counter, uvec2 seed, uint threshold)
{
    return greaterThanEqual(philox(counter, seed), uvec4(threshold));
}

#endif

// The roofs of a device: the best that memory and arithmetic can reach, see <vkformer/measure.h>. roof_copy moves
// vectors of four floats, roof_read sums them, and roof_fma multiplies and adds in registers.
#ifndef VKF_SHARED_ROOF_H
#define VKF_SHARED_ROOF_H

#include "types.h"

#define VKF_ROOF_COPY_BINDING_X 1
#define VKF_ROOF_COPY_BINDING_OUT 2
#define VKF_ROOF_COPY_SPEC_EACH 1 // vectors that one invocation takes, a workgroup's size apart
#define VKF_ROOF_COPY_SPEC_COUNT 2

struct vkf_roof_copy_params {
    vkf_u32 vectors; // of x
};
VKF_SHARED_SIZE(vkf_roof_copy_params, 1)

#define VKF_ROOF_FMA_BINDING_OUT 1
#define VKF_ROOF_FMA_SPEC_CHAINS 1 // independent accumulators of four floats each, 2 to 4
#define VKF_ROOF_FMA_SPEC_COUNT 2
#define VKF_ROOF_FMA_STEPS 8 // multiply-adds per round and accumulator

struct vkf_roof_fma_params {
    vkf_u32 count;  // elements of out, an invocation each
    vkf_u32 rounds; // below 65,536: Mesa 22.3 ends an invocation's loops there
    vkf_f32 factor; // 1 and 1, which no compiler knows: so every step adds 1, and the result tells how many there were
    vkf_f32 addend;
};
VKF_SHARED_SIZE(vkf_roof_fma_params, 4)

#endif

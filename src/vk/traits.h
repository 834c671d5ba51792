// caps -> traits -> plan -> device, the second step: facts about the kind of device that follow from its caps,
// worked out once when the plan is made. Whatever chooses between kernels, or between ways to use them, asks for these
// and not for the type of the device.
#ifndef VKF_VK_TRAITS_H
#define VKF_VK_TRAITS_H

#include <stdbool.h>

struct vkf__caps;

typedef struct vkf__traits {
    // Shaders run on a processor: few cores, no shared memory or matrix units in hardware, and a cache that takes what
    // registers do not hold.
    bool processor;
    // The memory that is fastest for shaders can be mapped too, and this is not masked: DEVICE memory needs no staging.
    bool unified_memory;
    // Products of 8-bit integers are faster than those of the floats that they are made of.
    bool integer_dot_units;
    // A processor's driver that folds loads from uniform addresses into the arithmetic. Others fetch texels best.
    bool folds_uniform_loads;
    // A processor's driver that takes many seconds to compile hundreds of unrolled multiply-adds on such loads.
    bool compiles_unrolled_slowly;
} vkf__traits;

// Pure, of caps that nothing will limit any more.
vkf__traits vkf__traits_of(const struct vkf__caps *caps);

#endif

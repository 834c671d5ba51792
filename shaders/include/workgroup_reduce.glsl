// Reduces what the invocations of a workgroup have. Included after local_size.glsl; the local size is a power of two.
#ifndef VKF_WORKGROUP_REDUCE_GLSL
#define VKF_WORKGROUP_REDUCE_GLSL

// Leaves in the first element of a shared array of LOCAL_SIZE, for each invocation to read, what `combine`, a function
// or macro of two of them, makes of all. Each invocation has written its own element.
#define WORKGROUP_REDUCE(array, combine)                                                   \
    barrier();                                                                             \
    for (uint stride = gl_WorkGroupSize.x / 2; stride > 0; stride /= 2) {                  \
        uint at = gl_LocalInvocationID.x;                                                  \
        if (at < stride)                                                                   \
            array[at] = combine(array[at], array[at + stride]);                            \
        barrier();                                                                         \
    }

#define SUM_OF(a, b) ((a) + (b))

#endif

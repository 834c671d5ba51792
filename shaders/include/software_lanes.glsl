// Loads consecutive elements for the invocations of a subgroup, which is the whole workgroup (the registry checks it).
//
//   LANE_ELEMENT(type, name, words, first);   declares   type name = words[first + gl_SubgroupInvocationID];
//
// Every invocation reads the elements of all and keeps its own. A compiler that keeps a subgroup's invocations in a
// vector register (lavapipe) knows gl_SubgroupInvocationID as the constants 0, 1, 2, ..., and turns this into one load
// of a register; an index that differs between invocations would cost a gather. The kernel that includes this enables
// GL_KHR_shader_subgroup_basic.
#ifndef VKF_LANES_GLSL
#define VKF_LANES_GLSL

#define LANE_ELEMENT(type, name, words, first)                             \
    type name = words[first];                                              \
    [[unroll]] for (uint lane_ = 1; lane_ < gl_WorkGroupSize.x; ++lane_) { \
        type other_ = words[(first) + lane_];                              \
        name = gl_SubgroupInvocationID == lane_ ? other_ : name;           \
    }

#endif

// Which invocations work on a row, in kernels that reduce rows.
//
//   FOR_ROWS(row, rows)      is followed by a statement, which is done for each of the invocation's rows below `rows`
//   row_lane(), row_lanes()  the invocation's number among those of its row, and the number of these
//
// With ROW_SUBGROUP a subgroup takes a row, without shared memory or barriers. Its lanes are counted, because a
// subgroup may have fewer than its size says; any number of workgroups will do. Otherwise a workgroup takes the row of
// its number; its size is a power of two (the registry checks it). Included after include/grid.glsl.
#ifndef VKF_ROW_GLSL
#define VKF_ROW_GLSL

#ifdef ROW_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require

#define FOR_ROWS(row, rows)                                                      \
    for (uint row = group_index() * gl_NumSubgroups + gl_SubgroupID; row < rows; \
         row += gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_NumSubgroups)
uint row_lane() { return subgroupExclusiveAdd(1u); }
uint row_lanes() { return subgroupAdd(1u); }
#else
#define FOR_ROWS(row, rows)   \
    uint row = group_index(); \
    if (row < rows)
uint row_lane() { return gl_LocalInvocationID.x; }
uint row_lanes() { return gl_WorkGroupSize.x; }
#endif

#endif

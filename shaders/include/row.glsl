// Kernels that reduce rows: who works on a row.
//
//   FOR_ROWS(row, rows)      a statement follows, which is done for each row of the invocation, below `rows`
//   row_lane(), row_lanes()  the invocation's number among those of its row, and how many they are
//
// With ROW_SUBGROUP a subgroup takes a row, without shared memory or barriers: lanes are counted, as a subgroup may be
// smaller than its size says, and any number of workgroups is right. Otherwise a workgroup takes the row of its number;
// its size is a power of two (the registry checks it). Included after include/grid.glsl.
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

// The workgroup, and where an invocation stands in a grid. One dimension of a dispatch holds only 65,535 workgroups on
// many devices, so large grids are folded into two: the last row of workgroups may overshoot, and every kernel guards
// its index. Included after a shared header, whose types.h it needs.
#ifndef VKF_GRID_GLSL
#define VKF_GRID_GLSL

// Declared here, ahead of any use: before its declaration glslang takes gl_WorkGroupSize for the constant 1.
layout(local_size_x = 64, local_size_x_id = VKF_SPEC_LOCAL_SIZE) in;

// The workgroup's number: the row of kernels that take one workgroup per row.
uint group_index()
{
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

// The invocation's number: the element of kernels that take one invocation per element.
uint flat_index()
{
    return group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}

// The row and first column of this invocation in kernels whose workgroups each take a part of one row, VKF_PART_EACH
// columns per invocation; the invocation's next columns are a workgroup's size apart. This costs one division for a
// workgroup's work: on processors, one for each element would take longer than all else.
uvec2 row_and_column(uint dim)
{
    uint width = VKF_PART_EACH * gl_WorkGroupSize.x, parts = (dim + width - 1) / width;
    uint group = group_index(), row = group / parts;
    return uvec2(row, (group - row * parts) * width + gl_LocalInvocationID.x);
}

#endif

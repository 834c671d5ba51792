// The sum over the invocations of a row, in each of them. Included after include/row.glsl, `lane`, which is the
// invocation's number in its row, and ROW_VALUE, which is what each has: float or vec4.
#ifndef VKF_ROW_SUM_GLSL
#define VKF_ROW_SUM_GLSL

#ifdef ROW_SUBGROUP
float add_lanes(float own)
{
    return subgroupAdd(own);
}

vec4 add_lanes(vec4 own)
{
    return vec4(subgroupAdd(own.x), subgroupAdd(own.y), subgroupAdd(own.z), subgroupAdd(own.w));
}

ROW_VALUE row_sum(ROW_VALUE own)
{
    return add_lanes(own);
}
#else
#include "local_size.glsl"
#include "workgroup_reduce.glsl"

shared ROW_VALUE partial[LOCAL_SIZE];

ROW_VALUE row_sum(ROW_VALUE own)
{
    partial[lane] = own;
    WORKGROUP_REDUCE(partial, SUM_OF)
    ROW_VALUE total = partial[0];
    barrier(); // partial may be written again
    return total;
}
#endif

#endif

// Elements that are told by an index where along one dimension they come from, or where they go. The elements that move
// lie in rows of (.., n1, n2, n3), the others, of which some are met, have `len` along that dimension:
//
//   GATHER        out[moved] = x[wide(index)], or 0 where the index is outside
//   SCATTER       out[wide(index)] = x[moved], but where the index is outside
//   SCATTER_*     out[wide(index)] = out[wide(index)] * x[moved], and so on
//
// Indices below 0 count from the end. An invocation takes `steps` elements along the dimension, one after the other;
// without a reduction it is one. Strides are in elements, and 0 repeats.
#ifndef VKF_SHARED_INDEX_H
#define VKF_SHARED_INDEX_H

#include "types.h"

#define VKF_INDEX_BINDING_INDEX 1 // i32
#define VKF_INDEX_BINDING_X 2
#define VKF_INDEX_BINDING_OUT 3

#define VKF_INDEX_SPEC_MODE 1
#define VKF_INDEX_SPEC_COUNT 2

#define VKF_INDEX_SCATTER 0 // these are equal to vkf_reduction
#define VKF_INDEX_SCATTER_ADD 1
#define VKF_INDEX_SCATTER_MULTIPLY 2
#define VKF_INDEX_SCATTER_MAX 3
#define VKF_INDEX_SCATTER_MIN 4
#define VKF_INDEX_GATHER 5
#define VKF_INDEX_MODES 6

struct vkf_index_params {
    vkf_u32 count; // of invocations
    vkf_u32 n1;    // their sizes but the first
    vkf_u32 n2;
    vkf_u32 n3;
    vkf_u32 steps;
    vkf_u32 len;
    vkf_u32 moved_first; // the place of the first element, and the strides from one to the next
    vkf_u32 moved_0;
    vkf_u32 moved_1;
    vkf_u32 moved_2;
    vkf_u32 moved_3;
    vkf_u32 moved_step;
    vkf_u32 index_first;
    vkf_u32 index_0;
    vkf_u32 index_1;
    vkf_u32 index_2;
    vkf_u32 index_3;
    vkf_u32 index_step;
    vkf_u32 wide_0; // along the dimension it is 0, and wide_step is from one index to the next
    vkf_u32 wide_1;
    vkf_u32 wide_2;
    vkf_u32 wide_3;
    vkf_u32 wide_step;
};
VKF_SHARED_SIZE(vkf_index_params, 23)

#endif

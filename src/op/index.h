// Elements that are gathered from where an index tells, or scattered to there.
#ifndef VKF_OP_INDEX_H
#define VKF_OP_INDEX_H

#include "op/operand.h"

#define VKF_INDEX_RANK 4

typedef struct vkf__index_args {
    const char *label;
    vkf__span index; // i32, in rows of index_shape
    vkf__span x, out;
    uint32_t shape[VKF_INDEX_RANK];       // of the elements that move: the output of a gathering, the x of a scattering
    uint32_t index_shape[VKF_INDEX_RANK]; // every size is that of `shape` or 1
    uint32_t dim, len;                    // along `dim` the other tensor has `len` elements, else the sizes of `shape`
    bool gather;
    vkf_reduction reduction; // of what is scattered
} vkf__index_args;

// Status TOO_LARGE for more than 2^32 - 1 elements.
VKF_MUST_CHECK vkf_status vkf__emit_index(vkf__work *work, const vkf__index_args *args);

#endif

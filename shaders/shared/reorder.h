// Rows of a cache change places, in place. Moves (to, from) are done one after the other, each for the same part of a
// row. Row -1 stands for a place aside, which a cycle of rows needs. There is one invocation per word of that part. It
// moves its own word through all rows, so that no invocation reads what another one writes.
//
// Words have 32 bits, whatever they mean.
#ifndef VKF_SHARED_REORDER_H
#define VKF_SHARED_REORDER_H

#include "types.h"

#define VKF_REORDER_BINDING_X 1     // (rows, row_words)
#define VKF_REORDER_BINDING_MOVES 2 // (moves, 2) i32: to, from
#define VKF_REORDER_SPEC_COUNT 1

struct vkf_reorder_params {
    vkf_u32 count; // words of a row that move
    vkf_u32 first; // of them
    vkf_u32 row_words;
    vkf_u32 moves;
};
VKF_SHARED_SIZE(vkf_reorder_params, 4)

#endif

// Rows of a cache change places, in place; semantics in shared/reorder.h.
#ifndef VKF_OP_REORDER_H
#define VKF_OP_REORDER_H

#include "op/operand.h"

typedef struct vkf__reorder_args {
    const char *label;
    vkf__span x;     // (rows, row_words) of 32 bits, whatever they mean
    vkf__span moves; // (move_count, 2) i32: to and from, -1 being a place aside; what they name is there
    uint32_t row_words;
    uint32_t first, count; // words of a row that move; count 0 skips it in this run
    uint32_t move_count;
} vkf__reorder_args;

VKF_MUST_CHECK vkf_status vkf__emit_reorder(vkf__work *work, const vkf__reorder_args *args);

// The moves that give row i what row sources[i] has; those that have it already are left alone. At most 3 / 2 of the rows.
// `moves` has room for so many pairs, `readers` is scratch, (count). Returns their number.
uint32_t vkf__reorder_moves(const uint32_t *sources, uint32_t count, uint32_t *readers, int32_t *moves);

#endif

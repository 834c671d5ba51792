// Reorders the rows of a cache in place. shared/reorder.h says how.
#ifndef VKF_OP_REORDER_H
#define VKF_OP_REORDER_H

#include "op/operand.h"

typedef struct vkf__reorder_args {
    const char *label;
    vkf__span x;     // (rows, row_words) of 32 bits, whatever they mean
    vkf__span moves; // (move_count, 2) i32: (to, from), existing rows; -1 stands for a place aside
    uint32_t row_words;
    uint32_t first, count; // the words of a row that move; count 0 skips the dispatch in this run
    uint32_t move_count;
} vkf__reorder_args;

VKF_MUST_CHECK vkf_status vkf__emit_reorder(vkf__work *work, const vkf__reorder_args *args);

// Finds the moves that give each row i what row sources[i] has, and leaves alone the rows that are their own source.
// Returns the number of moves, at most 3 / 2 * count: `moves` has room for so many pairs. `readers` is scratch,
// (count).
uint32_t vkf__reorder_moves(const uint32_t *sources, uint32_t count, uint32_t *readers, int32_t *moves);

#endif

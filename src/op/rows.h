// The grid, which all kernels that reduce rows have in common.
#ifndef VKF_OP_ROWS_H
#define VKF_OP_ROWS_H

#include "kernel/work.h"

// A workgroup takes one row or, where a subgroup takes a row, as many rows as it has subgroups. Should the driver make
// fewer subgroups than expected, the kernels go on to the rows that are left.
void vkf__grid_rows(const vkf__work *work, const vkf__variant *variant, uint64_t rows, uint32_t out_grid[3]);

#endif

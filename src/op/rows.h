// What the kernels that reduce rows have in common.
#ifndef VKF_OP_ROWS_H
#define VKF_OP_ROWS_H

#include "kernel/work.h"

// A workgroup for each row, or for as many rows as it has subgroups where a subgroup takes one. Kernels go on to further
// rows where the driver made fewer subgroups than that.
void vkf__grid_rows(const vkf__work *work, const vkf__variant *variant, uint64_t rows, uint32_t out_grid[3]);

#endif

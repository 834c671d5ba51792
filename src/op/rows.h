// What kernels that reduce rows have in common: the grid, and rows that subgroups hold.
#ifndef VKF_OP_ROWS_H
#define VKF_OP_ROWS_H

#include "kernel/work.h"

// A workgroup takes one row or, where a subgroup takes a row, as many rows as it has subgroups. Should the driver make
// fewer subgroups than expected, the kernels go on to the rows that are left.
void vkf__grid_rows(const vkf__work *work, const vkf__variant *variant, uint64_t rows, uint32_t out_grid[3]);

// The columns of a row that an invocation has to hold in registers, where the smallest subgroup is to hold all of it:
// the next power of two from `least` on, as every number is another pipeline; 0 if that is more than `most`, or if the
// device does not tell how small its subgroups may be.
uint32_t vkf__held_columns(const vkf__caps *caps, uint32_t dim, uint32_t least, uint32_t most);

#endif

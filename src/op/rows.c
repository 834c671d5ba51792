// Kernels that reduce rows: their grid, and rows that subgroups hold.
#include "op/rows.h"

void vkf__grid_rows(const vkf__work *work, const vkf__variant *variant, uint64_t rows, uint32_t out_grid[3])
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    uint32_t side_by_side = 1;
    if (variant->kernel->needs & VKF_NEEDS_SUBGROUP)
        side_by_side = vkf__variant_local_size(caps, variant) / caps->subgroup_size;
    vkf__grid_flat(work, side_by_side > 1 ? (rows + side_by_side - 1) / side_by_side : rows, out_grid);
}

uint32_t vkf__held_columns(const vkf__caps *caps, uint32_t dim, uint32_t least, uint32_t most)
{
    uint32_t columns = least;
    if (caps->least_subgroup_size == 0)
        return 0;
    while (columns <= most && (uint64_t)columns * caps->least_subgroup_size < dim)
        columns *= 2;
    return columns <= most ? columns : 0;
}

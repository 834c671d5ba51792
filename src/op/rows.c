// The grid of kernels that reduce rows.
#include "op/rows.h"

void vkf__grid_rows(const vkf__work *work, const vkf__variant *variant, uint64_t rows, uint32_t out_grid[3])
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    uint32_t side_by_side = 1;
    if (variant->kernel->needs & VKF_NEEDS_SUBGROUP)
        side_by_side = vkf__variant_local_size(caps, variant) / caps->subgroup_size;
    vkf__grid_flat(work, side_by_side > 1 ? (rows + side_by_side - 1) / side_by_side : rows, out_grid);
}

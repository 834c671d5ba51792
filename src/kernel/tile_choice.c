// What follows from the config of a kernel: how many workgroups its tiles give, and which of the device's matrices it
// multiplies with.
#include "kernel/registry.h"

uint64_t vkf__config_workgroups(const vkf__config *config, const vkf__problem *problem)
{
    const vkf__gemm_tile *t = &config->tile.gemm;
    uint64_t rows = ((uint64_t)problem->m + t->m - 1) / t->m, columns = ((uint64_t)problem->n + t->n - 1) / t->n;
    return rows * columns * (problem->batch > 0 ? problem->batch : 1) * (problem->parts > 0 ? problem->parts : 1);
}

static const vkf__matrix_shape *find_shape(const vkf__caps *caps, vkf__matrix_type type, const uint32_t tile[3])
{
    const VkComponentTypeKHR factors =
        type == VKF_MATRIX_BF16 ? VK_COMPONENT_TYPE_BFLOAT16_KHR : VK_COMPONENT_TYPE_FLOAT16_KHR;
    const VkComponentTypeKHR sums =
        type == VKF_MATRIX_F16_SUMS ? VK_COMPONENT_TYPE_FLOAT16_KHR : VK_COMPONENT_TYPE_FLOAT32_KHR;
    return vkf__matrix_find(&caps->matrix, factors, sums, tile[0], tile[1], tile[2]);
}

const vkf__matrix_shape *vkf__matrix_shape_of(const vkf__caps *caps, const vkf__kernel *kernel,
                                              const vkf__config *config)
{
    uint32_t tile[3];
    if (kernel->matrix == VKF_MATRIX_NONE)
        return NULL;
    kernel->matrix_tile(config, tile);
    return find_shape(caps, kernel->matrix, tile);
}

bool vkf__lists_matrices(const vkf__caps *caps, const vkf__kernel *kernel)
{
    const uint32_t any[3] = {0};
    return find_shape(caps, kernel->matrix, any) != NULL;
}

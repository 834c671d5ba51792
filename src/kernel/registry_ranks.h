// What a device with certain traits takes as long as nothing was measured on it; see vkf__kernel.rank. Part of
// registry.c.
#ifndef VKF_KERNEL_REGISTRY_RANKS_H
#define VKF_KERNEL_REGISTRY_RANKS_H

#include "kernel/registry.h"

// Processors that run shaders: no kernel with shared memory and barriers comes near the others there.
static uint32_t rank_texel(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)problem;
    return !caps->traits.processor ? VKF_RANK_LAST + 10 : caps->traits.folds_uniform_loads ? 20 : 10;
}

static uint32_t rank_address(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)problem;
    return !caps->traits.processor ? VKF_RANK_LAST + 10 : caps->traits.folds_uniform_loads ? 10 : 40;
}

// For halves: ahead of lanes along m, where they would be unpacked for every row.
static uint32_t rank_address_n(const vkf__caps *caps, const vkf__problem *problem)
{
    return rank_address(caps, problem) - 2;
}

// One row leaves nothing to share out: the rows of a tile that are not there would be multiplied all the same.
static uint32_t rank_shuffle(const vkf__caps *caps, const vkf__problem *problem)
{
    return problem->m == 1 ? rank_texel(caps, problem) + 2 : rank_texel(caps, problem) - 2;
}

static uint32_t rank_texel_single(const vkf__caps *caps, const vkf__problem *problem)
{
    return rank_texel(caps, problem) + 5;
}

static uint32_t rank_direct(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)problem;
    return !caps->traits.processor ? VKF_RANK_LAST + 10 : 30;
}

// Ahead of tiles for up to eight rows, whatever the device; kernels for processors come before both.
static uint32_t rank_gemv(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)caps;
    return problem->m <= 8 ? 60 : VKF_RANK_LAST + 20;
}

// Weights in blocks from storage buffers: ahead of tiles on processors, and elsewhere for few rows.
static uint32_t rank_blocks(const vkf__caps *caps, const vkf__problem *problem)
{
    return caps->traits.processor ? rank_direct(caps, problem) : rank_gemv(caps, problem);
}

static uint32_t rank_gemv_subgroup(const vkf__caps *caps, const vkf__problem *problem)
{
    return rank_gemv(caps, problem) - (caps->traits.processor ? 0 : 5);
}

// Rows that a subgroup goes through in few steps; processors gain without barriers, however long the rows.
static uint32_t rank_row_subgroup(const vkf__caps *caps, const vkf__problem *problem)
{
    bool short_row = problem->n <= 32 * caps->subgroup_size;
    return caps->traits.processor || short_row ? 50 : VKF_RANK_LAST + 10;
}

// Rows of a product that leave most of a matrix empty.
#define FEW_ROWS 8u

// Processors have no units for matrices, but drivers that act as if.
static uint32_t rank_matrix(const vkf__caps *caps, const vkf__problem *problem)
{
    if (caps->traits.processor)
        return VKF_RANK_LAST + 20;
    return problem->m <= FEW_ROWS ? VKF_RANK_LAST + 5 : 40;
}

// After those of listed shapes, until they were measured to be faster.
static uint32_t rank_matrix_tensor(const vkf__caps *caps, const vkf__problem *problem)
{
    return rank_matrix(caps, problem) + 5;
}

static uint32_t rank_matrix_element(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)caps;
    (void)problem;
    return VKF_RANK_LAST + 40;
}

static uint32_t rank_tiled(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)problem;
    return caps->traits.processor ? VKF_RANK_LAST : 50;
}

#endif

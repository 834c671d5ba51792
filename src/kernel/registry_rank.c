// Ranks that families share: the lower is preferred.
#include "kernel/registry_rank.h"

#include "kernel/registry_software.h"

// Products of up to this many rows leave most of a matrix empty.
#define FEW_ROWS 8u

uint32_t vkf__rank_few_rows(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)caps;
    return problem->m <= FEW_ROWS ? 60 : VKF_RANK_LAST + 20;
}

bool vkf__integer_dot_pays(const vkf__traits *traits, vkf_dtype weight, uint32_t m, uint32_t k)
{
    const uint32_t row_depth = weight == VKF_DTYPE_Q8 ? traits->row_dot_depth_q8 : traits->row_dot_depth_q4;
    return traits->integer_dot_units && (m > 1 || k >= row_depth);
}

// Processors have no matrix units, but some of their drivers emulate them.
uint32_t vkf__rank_matrix(const vkf__caps *caps, const vkf__problem *problem)
{
    if (caps->traits.processor)
        return VKF_RANK_LAST + 20;
    return problem->m <= FEW_ROWS ? VKF_RANK_LAST + 5 : 40;
}

uint32_t vkf__rank_direct(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)problem;
    return !caps->traits.processor ? VKF_RANK_LAST + 10 : 30;
}

// On processors that run shaders, no kernel with shared memory and barriers comes near these.
uint32_t vkf__rank_texel(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)problem;
    return !caps->traits.processor ? VKF_RANK_LAST + 10 : caps->traits.folds_uniform_loads ? 20 : 10;
}

uint32_t vkf__rank_address(const vkf__caps *caps, const vkf__problem *problem)
{
    (void)problem;
    return !caps->traits.processor ? VKF_RANK_LAST + 10 : caps->traits.folds_uniform_loads ? 10 : 40;
}

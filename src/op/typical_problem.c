// Typical problems and constants, as reports and warm-up ask for them.
#include "op/typical_problem.h"

#include "op/pack.h"
#include "shared/gemm.h"

const vkf__typical_problem vkf__typical_any[1] = {{.label = "any", .problem = {.m = 1u << 16}}};
const vkf__typical_problem vkf__typical_any_ahead[1] = {{.label = "any", .problem = {.m = 1u << 16}, .ahead = true}};

const vkf__typical_problem vkf__typical_rows[VKF_TYPICAL_ROWS] = {
    {.label = "32 columns", .problem = {.m = 512, .n = 32}, .ahead = true},
    {.problem = {.m = 512, .n = 256}, .ahead = true},
    {.label = "768", .problem = {.m = 512, .n = 768}},
    {.label = "4096", .problem = {.m = 512, .n = 4096}, .ahead = true},
};

const uint32_t vkf__typical_head_dims[VKF_TYPICAL_HEAD_DIMS] = {64, 128, 256};

vkf__problem vkf__typical_problem_for(const vkf__selector *selector, const vkf__typical_problem *typical,
                                      const vkf_dtype *types)
{
    vkf__problem problem = typical->problem;
    if (!typical->linear)
        return problem;
    // The layout is chosen as for a weight that is loaded: by a product of many rows.
    vkf__problem panels = problem;
    panels.m = 128;
    panels.b_layout = VKF_GEMM_B_PANELS;
    panels.offers = VKF_FORM_QUADS;
    const bool wants_panels = vkf__ranks_panels_first(selector, types, &panels);
    problem.b_layout = wants_panels ? VKF_GEMM_B_PANELS : VKF_GEMM_B_NK;
    problem.offers = wants_panels ? VKF_FORM_QUADS : 0;
    return problem;
}

void vkf__typical_flag_set(const vkf__kernel *kernel, uint32_t spec_id, uint32_t value, uint32_t *flags)
{
    if (spec_id > kernel->tile_count && spec_id < kernel->spec_count)
        flags[spec_id] = value;
}

#include "op/trial.h"
#include "op/tune.h"
#include "shared/gemm.h"

// Which rows decide the layout of a weight, see vkf__wants_panels().
#define LAYOUT_ROWS 128u

// The caller holds tune_lock.
static vkf_status tune_within_budget(vkf_context *context, const vkf_dtype *types, uint32_t m, uint32_t n, uint32_t k)
{
    const vkf__tuned *tuned = vkf__learned_tuned(&context->learned);
    const vkf_tune_problem problem = {.m = m, .n = n, .k = k, .x = types[0], .weight = types[1], .out = types[2]};
    vkf__problem rows = {.m = m, .n = n, .k = k, .b_layout = VKF_GEMM_B_NK}, panels = rows;
    panels.b_layout = VKF_GEMM_B_PANELS;
    if (context->first_use_left_ns == 0 || (tuned && (vkf__tuned_find(tuned, VKF_OP_GEMM, types, &rows) ||
                                                      vkf__tuned_find(tuned, VKF_OP_GEMM, types, &panels))))
        return VKF_OK;
    double begin = vkf__now_ns();
    vkf_tune_result result;
    vkf_status status =
        vkf__tune_linear(context, &problem, begin + (double)context->first_use_left_ns, NULL, NULL, &result);
    uint64_t used = (uint64_t)(vkf__now_ns() - begin);
    context->first_use_left_ns -= used < context->first_use_left_ns ? used : context->first_use_left_ns;
    vkf__log(&context->host, VKF_SEVERITY_DEBUG, "tuned %u x %u x %u in %.0f ms: %s", m, n, k, (double)used * 1e-6,
             result.tuned ? result.variant : "nothing was found in time");
    return status;
}

vkf_status vkf__tune_weight(vkf_context *context, const vkf_dtype types[3], uint32_t n, uint32_t k)
{
    if (!context->first_use || n == 0 || k == 0)
        return VKF_OK;
    pthread_mutex_lock(&context->tune_lock);
    vkf_status status = tune_within_budget(context, types, LAYOUT_ROWS, n, k);
    pthread_mutex_unlock(&context->tune_lock);
    return status;
}

vkf_status vkf__tune_first_use(vkf_context *context, vkf__op op, const vkf_dtype *types, const vkf__problem *problem)
{
    const vkf__tuned *tuned = vkf__learned_tuned(&context->learned);
    if (op != VKF_OP_GEMM || problem->m == 0 || problem->transpose_a || problem->b_layout == VKF_GEMM_B_KN || !tuned ||
        !vkf__tuned_knows_weight(tuned, op, types, problem->n, problem->k))
        return VKF_OK;
    pthread_mutex_lock(&context->tune_lock);
    vkf_status status = tune_within_budget(context, types, problem->m, problem->n, problem->k);
    pthread_mutex_unlock(&context->tune_lock);
    return status;
}

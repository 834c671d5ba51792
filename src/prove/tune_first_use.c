// Tunes problems when they are first used, for as long as the context's time for that lasts.
#include "base/clock.h"
#include "prove/tune.h"
#include "shared/gemm.h"

// The number of rows for which the layout of a weight is chosen, see vkf__wants_panels().
#define LAYOUT_ROWS 128u

static bool is_known(const vkf_context *context, const vkf_tune_problem *problem)
{
    const vkf__tuned *tuned = vkf__learned_tuned(&context->learned);
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    const vkf__op op = vkf__tune_op(problem);
    const vkf__problem rows = vkf__tune_problem_of(context, problem, false, types);
    const vkf__problem panels = vkf__tune_problem_of(context, problem, true, types);
    return tuned && (vkf__tuned_find(tuned, op, types, &rows) || vkf__tuned_find(tuned, op, types, &panels));
}

// The caller holds tune_lock.
static vkf_status tune_within_budget(vkf_context *context, const vkf_tune_problem *problem, bool *out_learned)
{
    *out_learned = false;
    if (context->first_use_left_ns == 0 || is_known(context, problem))
        return VKF_OK;
    double begin = vkf__now_ns();
    const vkf__tune_limits limits = {.deadline_ns = begin + (double)context->first_use_left_ns};
    vkf_tune_result result;
    vkf_status status = vkf__tune_one(context, problem, &limits, &result);
    uint64_t used = (uint64_t)(vkf__now_ns() - begin);
    context->first_use_left_ns -= used < context->first_use_left_ns ? used : context->first_use_left_ns;
    vkf__log(&context->host, VKF_SEVERITY_DEBUG, "tuned %u x %u x %u%s in %.0f ms: %s", problem->m, problem->n,
             problem->k, problem->kind == VKF_TUNE_ATTENTION ? " of attention" : "", (double)used * 1e-6,
             result.tuned ? result.variant : "nothing was found in time");
    *out_learned = is_known(context, problem);
    return status;
}

static vkf_status tune_locked(vkf_context *context, const vkf_tune_problem *problem, bool *out_learned)
{
    pthread_mutex_lock(&context->tune_lock);
    vkf_status status = tune_within_budget(context, problem, out_learned);
    pthread_mutex_unlock(&context->tune_lock);
    return status;
}

vkf_status vkf__tune_weight(vkf_context *context, const vkf_dtype types[3], uint32_t n, uint32_t k)
{
    bool learned = false;
    if (!context->tunes_on_first_use || n == 0 || k == 0)
        return VKF_OK;
    const vkf_tune_problem problem = {
        .m = LAYOUT_ROWS, .n = n, .k = k, .x = types[0], .weight = types[1], .out = types[2]};
    return tune_locked(context, &problem, &learned);
}

static bool is_measured_weight(const vkf_context *context, const vkf_dtype *types, const vkf__problem *problem)
{
    const vkf__tuned *tuned = vkf__learned_tuned(&context->learned);
    return !(problem->wants & VKF_FORM_TRANSPOSED_A) && problem->b_layout != VKF_GEMM_B_KN && tuned &&
           vkf__tuned_knows_weight(tuned, VKF_OP_GEMM, types, problem->n, problem->k);
}

vkf_status vkf__tune_first_use(vkf_context *context, vkf__op op, const vkf_dtype *types, const vkf__problem *problem,
                               bool *out_learned)
{
    vkf_tune_problem wanted = {
        .m = problem->m, .n = problem->n, .k = problem->k, .x = types[0], .weight = types[1], .out = types[2]};
    *out_learned = false;
    if (problem->m == 0 || problem->n == 0 || problem->k == 0)
        return VKF_OK;
    if (op == VKF_OP_ATTENTION) {
        wanted.kind = VKF_TUNE_ATTENTION;
        wanted.out = wanted.x; // also where the kernel leaves parts in f32
        return tune_locked(context, &wanted, out_learned);
    }
    if (op == VKF_OP_GEMM && is_measured_weight(context, types, problem))
        return tune_locked(context, &wanted, out_learned);
    return VKF_OK;
}

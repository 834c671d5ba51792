// Public entry points of the tuner: measures problems, and explains which variants a problem may get.
#include <vkformer/tune.h>

#include "base/elements.h"
#include "base/sized.h"
#include "kernel/context.h"
#include "prove/tune.h"

static vkf_status check(const vkf_context *context, const vkf_tune_problem *problem)
{
    bool attention = problem->kind == VKF_TUNE_ATTENTION;
    VKF_RETURN_IF_ERROR(vkf__check_reserved(&context->host, "vkf_tune", "vkf_tune_problem", problem->reserved,
                                            sizeof problem->reserved));
    if (problem->kind != VKF_TUNE_LINEAR && (!attention || problem->k > 256 || problem->heads > 65536))
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_tune: neither a Linear nor attention of up to 65536 heads, up to 256 wide");
    bool sizes = problem->m > 0 && problem->n > 0 && problem->k > 0;
    const vkf_dtype types[] = {problem->x, problem->weight, problem->out};
    for (size_t i = 0; i < 3; i++) {
        bool weight = i == 1;
        if (types[i] != VKF_DTYPE_F32 && types[i] != VKF_DTYPE_F16 &&
            !(weight && !attention && (types[i] == VKF_DTYPE_BF16 || vkf__is_blocks(types[i]))))
            return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT, "vkf_tune: %s is no type of an operand",
                             vkf_dtype_name(types[i]));
    }
    if (vkf__is_blocks(problem->weight) && problem->k % vkf_dtype_block_elements(problem->weight) != 0)
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_tune: blocks of %s do not divide a depth of %u", vkf_dtype_name(problem->weight),
                         problem->k);
    if (!sizes)
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT, "vkf_tune: a problem of %u x %u x %u", problem->m,
                         problem->n, problem->k);
    return VKF_OK;
}

vkf_status vkf_tune_sized(vkf_context *context, const vkf_tune_problem *problems, uint32_t count,
                          const vkf_tune_options *options, size_t options_bytes, vkf_tune_result *out_results,
                          size_t result_bytes)
{
    static const vkf_tune_options defaults = {0};
    if (!context || (count > 0 && !problems))
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(context, "vkf_tune"));
    VKF_TAKE_SIZED(&context->host, "vkf_tune", vkf_tune_options, options, options_bytes);
    VKF_RETURN_IF_ERROR(vkf__check_sized(&context->host, "vkf_tune", result_bytes));
    for (uint32_t i = 0; i < count; i++)
        VKF_RETURN_IF_ERROR(check(context, &problems[i]));
    return vkf__tune_problems(context, problems, count, options ? options : &defaults, out_results, result_bytes);
}

vkf_status vkf_tune_explain(vkf_context *context, const vkf_tune_problem *problem, vkf_choice_fn visit, void *user)
{
    if (!context || !problem || !visit)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(context, __func__));
    VKF_RETURN_IF_ERROR(check(context, problem));
    return vkf__tune_explain(context, problem, visit, user);
}

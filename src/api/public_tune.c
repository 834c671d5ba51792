// Public entry points of the tuner: measures problems, and explains which variants a problem may get.
#include <vkformer/tune.h>

#include <stdio.h>

#include "base/elements.h"
#include "kernel/tune_candidates.h"
#include "op/pack.h"
#include "prove/trial.h"
#include "prove/tune.h"
#include "shared/gemm.h"

typedef struct tune_run {
    const vkf_tune_options *options;
    const vkf_tune_problem *problem;
    uint32_t done, total;
} tune_run;

static bool keep_going(void *user, const char *what)
{
    const tune_run *run = user;
    char text[VKF_VARIANT_NAME_SIZE + 48];
    (void)snprintf(text, sizeof text, "%ux%ux%u %s", run->problem->m, run->problem->n, run->problem->k, what);
    return run->options->progress(run->options->progress_user, run->done, run->total, text);
}

static vkf_status check(const vkf_context *context, const vkf_tune_problem *problem)
{
    bool attention = problem->kind == VKF_TUNE_ATTENTION;
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

static vkf_status tune_all(vkf_context *context, tune_run *run, const vkf_tune_problem *problems,
                           vkf_tune_result *out_results)
{
    vkf_status status = VKF_OK;
    uint64_t cap = run->options->time_cap_ns > 0 ? run->options->time_cap_ns : VKF_TUNE_TIME_CAP_NS;
    const vkf__tune_limits limits = {
        .deadline_ns = vkf__now_ns() + (double)cap,
        .keep_going = run->options->progress ? keep_going : NULL,
        .user = run,
    };
    for (uint32_t i = 0; i < run->total && vkf__now_ns() < limits.deadline_ns; i++) {
        vkf_tune_result result;
        run->problem = &problems[i];
        run->done = i;
        status = vkf__tune_one(context, &problems[i], &limits, &result);
        if (out_results)
            out_results[i] = result;
        if (status == VKF_ERROR_TOO_LARGE || status == VKF_ERROR_OUT_OF_DEVICE_MEMORY) {
            vkf__log(&context->host, VKF_SEVERITY_WARNING, "vkf_tune: %u x %u x %u is left out: %s", problems[i].m,
                     problems[i].n, problems[i].k, vkf_status_text(status));
            status = VKF_OK;
        }
        VKF_RETURN_IF_ERROR(status);
    }
    return status;
}

vkf_status vkf_tune(vkf_context *context, const vkf_tune_problem *problems, uint32_t count,
                    const vkf_tune_options *options, vkf_tune_result *out_results)
{
    static const vkf_tune_options defaults = {0};
    if (!context || (count > 0 && !problems))
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    tune_run run = {.options = options ? options : &defaults, .total = count};
    for (uint32_t i = 0; i < count; i++)
        VKF_RETURN_IF_ERROR(check(context, &problems[i]));
    for (uint32_t i = 0; out_results && i < count; i++)
        out_results[i] = (vkf_tune_result){.problem = problems[i]};
    pthread_mutex_lock(&context->tune_lock);
    status = tune_all(context, &run, problems, out_results);
    pthread_mutex_unlock(&context->tune_lock);
    vkf_status saved = vkf__learned_save(&context->learned);
    if (status == VKF_OK)
        status = saved;
    return status;
}

static vkf_status explain_layout(vkf_context *context, const vkf_tune_problem *p, bool panels, vkf_choice_fn visit,
                                 void *user)
{
    vkf_status status = VKF_OK;
    vkf__candidate *candidates = NULL;
    size_t count = 0;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    const vkf__op op = vkf__tune_op(p);
    const vkf__problem problem = vkf__tune_problem_of(context, p, panels, types);
    const vkf__selector selector = vkf__context_selector(context);
    vkf__variant chosen = {0};
    const char *why = NULL;
    (void)vkf__select(&selector, op, types, &problem, &chosen, &why);
    bool wanted = op != VKF_OP_GEMM || vkf__wants_panels(context, types, p->n, p->k) == panels;
    VKF_TRY(vkf__tune_candidates(&context->host, &selector, op, types, &problem, &candidates, &count));
    for (size_t i = 0; i < count; i++) {
        const vkf__variant *variant = &candidates[i].variant;
        bool is_chosen = variant->kernel == chosen.kernel && variant->config == chosen.config;
        vkf__verdict verdict = vkf__verdict_get(selector.verdicts, variant->kernel, variant->config);
        char name[VKF_VARIANT_NAME_SIZE];
        (void)snprintf(name, sizeof name, "%s/%s", variant->kernel->name, variant->config->name);
        const vkf_choice choice = {
            .variant = name,
            .layout = panels ? VKF_LAYOUT_PANELS : VKF_LAYOUT_ROWS,
            .chosen = is_chosen,
            .wanted = is_chosen && wanted,
            .usable = vkf__variant_serves(&selector, variant->kernel, variant->config, &problem, NULL),
            .tested = verdict == VKF_VERDICT_PASSED || verdict == VKF_VERDICT_PROVEN,
            .why = is_chosen ? why : candidates[i].why,
            .registers = candidates[i].registers,
            .shared_bytes = candidates[i].shared_bytes,
        };
        visit(user, &choice);
    }
fail:
    vkf__free(&context->host, candidates);
    return status;
}

vkf_status vkf_tune_explain(vkf_context *context, const vkf_tune_problem *problem, vkf_choice_fn visit, void *user)
{
    if (!context || !problem || !visit)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    VKF_RETURN_IF_ERROR(check(context, problem));
    bool blocks = problem->kind == VKF_TUNE_LINEAR && vkf__is_blocks(problem->weight);
    if (!blocks)
        VKF_RETURN_IF_ERROR(explain_layout(context, problem, false, visit, user));
    if (problem->kind == VKF_TUNE_LINEAR && (blocks || problem->n >= VKF_GEMM_PANEL))
        VKF_RETURN_IF_ERROR(explain_layout(context, problem, true, visit, user));
    return status;
}

// Says of every variant for a problem whether it is chosen, and why.
#include <stdio.h>

#include "base/elements.h"
#include "kernel/context.h"
#include "kernel/tune_candidates.h"
#include "op/pack.h"
#include "prove/tune.h"
#include "shared/gemm.h"

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

vkf_status vkf__tune_explain(vkf_context *context, const vkf_tune_problem *problem, vkf_choice_fn visit, void *user)
{
    bool linear = problem->kind == VKF_TUNE_LINEAR;
    bool blocks = linear && vkf__is_blocks(problem->weight);
    if (!blocks)
        VKF_RETURN_IF_ERROR(explain_layout(context, problem, false, visit, user));
    if (linear && (blocks || problem->n >= VKF_GEMM_PANEL))
        VKF_RETURN_IF_ERROR(explain_layout(context, problem, true, visit, user));
    return VKF_OK;
}

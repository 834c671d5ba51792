// Tells a caller the dispatches of a session that is only planned.
#include "api/models/plan_dispatches.h"

#include <stdio.h>
#include <string.h>

#include "api/models/planned_step.h"
#include "api/models/session_check.h"
#include "base/sized.h"
#include "model/session/session.h"
#include "op/operators.h"

typedef struct visitor {
    vkf_planned_dispatch_fn visit;
    void *user;
    const vkf__plan_watcher *watcher;
} visitor;

static void describe_kernel(const vkf__kernel *kernel, vkf_planned_dispatch *dispatch)
{
    dispatch->op = vkf__op_name(kernel->op);
    dispatch->kernel = kernel->name;
    dispatch->type_count = kernel->type_count;
    memcpy(dispatch->types, kernel->types, kernel->type_count * sizeof kernel->types[0]);
    dispatch->tensor_math = (kernel->needs & VKF_NEEDS_MATRIX) != 0;
    dispatch->integer_dot = (kernel->needs & VKF_NEEDS_INTEGER_DOT) != 0;
    dispatch->half_sums = kernel->half_sums;
}

vkf_planned_dispatch vkf__describe_planned(const vkf__work *work, const vkf__dispatch *planned,
                                           const vkf__problem *problem, bool barrier)
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0};
    vkf__variant_spec(caps, &planned->variant, planned->flags, spec);
    const vkf__dispatched dispatched = {planned->variant.kernel, spec, planned->params};
    const vkf__account account = vkf__account_of(&dispatched);
    vkf_planned_dispatch dispatch = {
        .part = work->name,
        .label = planned->label,
        .config = planned->variant.config->name,
        .workgroups = {planned->grid[0], planned->grid[1], planned->grid[2]},
        .local_size = vkf__variant_local_size(caps, &planned->variant),
        .shared_bytes = vkf__variant_shared_bytes(caps, &planned->variant, problem->n > 0 ? problem : NULL),
        .m = problem->m,
        .n = problem->n,
        .k = problem->k,
        .after_barrier = barrier,
        .flops = account.flops,
        .bytes_read = account.bytes_read,
        .bytes_written = account.bytes_written,
    };
    describe_kernel(planned->variant.kernel, &dispatch);
    dispatch.step_bytes = vkf__planned_step_bytes(planned->variant.config, &dispatch);
    return dispatch;
}

static void tell(void *user, const vkf__work *work, const vkf__dispatch *planned, const vkf__problem *problem,
                 bool barrier)
{
    const visitor *v = user;
    char label[128];
    vkf_planned_dispatch dispatch = vkf__describe_planned(work, planned, problem, barrier);
    (void)snprintf(label, sizeof label, "%s%s", work->prefix ? work->prefix : "", planned->label);
    dispatch.run = v->watcher->run;
    dispatch.label = label;
    v->visit(v->user, &dispatch);
}

vkf_status vkf_model_plan_dispatches_sized(vkf_context *context, const vkf_model_desc *desc, size_t desc_bytes,
                                           const vkf_session_desc *session, size_t session_bytes,
                                           vkf_planned_dispatch_fn visit, void *user)
{
    if (!context || !desc || !session || !visit)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_model_plan_dispatches");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_model_plan_dispatches", vkf_model_desc, desc, desc_bytes);
    VKF_TAKE_SIZED(&context->host, "vkf_model_plan_dispatches", vkf_session_desc, session, session_bytes);
    vkf_model *shape = NULL;
    vkf_session_desc full;
    visitor v = {.visit = visit, .user = user};
    vkf__plan_watcher watcher = {.planned = tell, .user = &v};
    v.watcher = &watcher;
    VKF_TRY(vkf__model_check(context, desc, "vkf_model_plan_dispatches"));
    VKF_TRY(vkf__model_shape(context, desc, &shape));
    VKF_TRY(vkf__session_complete(shape, session, "vkf_model_plan_dispatches", &full));
    VKF_TRY(vkf__session_watch(shape, &full, &watcher));
fail:
    vkf_model_destroy(&shape);
    return status;
}

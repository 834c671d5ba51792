// Measures and tests on the device what a plan wants.
#include "prove/prove.h"

#include <string.h>

#include "prove/race.h"
#include "prove/self_test.h"
#include "prove/tune.h"

// *out_learned: whether the tuner's table has a new entry.
static vkf_status measure(vkf_context *context, const vkf__want *wants, size_t count, bool *out_learned)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool learned = false;
        VKF_RETURN_IF_ERROR(
            vkf__pipelines_tell(&context->pipelines, i, count, "measuring kernels on this device, once"));
        VKF_RETURN_IF_ERROR(vkf__tune_first_use(context, wants[i].op, wants[i].types, &wants[i].problem, &learned));
        any = any || learned;
    }
    *out_learned = any;
    return VKF_OK;
}

// A pipeline of the plan that is to be tested.
typedef struct due_test {
    const vkf__variant *variant;
    const uint32_t *spec;
} due_test;

static bool is_listed(const due_test *list, size_t count, const vkf__planned_node *node)
{
    bool listed = false;
    for (size_t i = 0; i < count && !listed; i++)
        listed = list[i].variant->kernel == node->variant.kernel && list[i].variant->config == node->variant.config &&
                 memcmp(list[i].spec, node->spec, node->variant.kernel->spec_count * sizeof *node->spec) == 0;
    return listed;
}

// `list` has room for all nodes.
static size_t list_due(vkf_context *context, const vkf__dispatch_plan *plan, due_test *list)
{
    size_t count = 0;
    for (uint32_t i = 0; i < plan->node_count; i++) {
        const vkf__planned_node *node = &plan->nodes[i];
        if (!is_listed(list, count, node) && vkf__self_test_due(context, &node->variant, node->spec))
            list[count++] = (due_test){&node->variant, node->spec};
    }
    return count;
}

// All that the plan and the tests need, in one batch. *out_refused becomes true where the driver does not take a
// pipeline of the plan. What it does not take of the others, their test finds out.
static vkf_status compile(vkf_context *context, const vkf__dispatch_plan *plan, const due_test *list, size_t count,
                          bool *out_refused)
{
    const vkf__host *host = context->device.host;
    vkf_status status = VKF_OK;
    vkf__pipeline_wants wants = {0};
    size_t failed = 0;
    VKF_TRY(vkf__plan_pipelines(host, plan, &wants));
    for (size_t i = 0; i < count; i++)
        VKF_TRY(vkf__self_test_pipelines(context, list[i].variant, list[i].spec, &wants));
    status = vkf__pipelines_make(&context->pipelines, wants.list, wants.count, &failed);
    if (!vkf__pipelines_refused(&context->pipelines, status))
        goto fail;
    status = VKF_OK;
    if (failed < plan->node_count) {
        vkf__context_uncompiled(context, &plan->nodes[failed].variant);
        *out_refused = true;
    }
fail:
    vkf__free(host, wants.list);
    return status;
}

static vkf_status test_all(vkf_context *context, const due_test *list, size_t count, bool compiled, bool *out_refused)
{
    static const char what[] = "testing kernels on this device, once";
    for (size_t i = 0; i < count; i++) {
        vkf__verdict verdict = VKF_VERDICT_UNKNOWN;
        VKF_RETURN_IF_ERROR(vkf__pipelines_tell(&context->pipelines, i, count, what));
        VKF_RETURN_IF_ERROR(vkf__self_test_with(context, list[i].variant, list[i].spec, compiled, &verdict));
        *out_refused = *out_refused || vkf__verdict_bad(verdict);
    }
    return vkf__pipelines_tell(&context->pipelines, count, count, what);
}

// *out_refused becomes true where one of the kernels may not be used.
static vkf_status test(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_refused)
{
    vkf_status status = VKF_OK;
    due_test *list = NULL;
    VKF_ALLOC(context->device.host, list, plan->node_count > 0 ? plan->node_count : 1);
    const size_t count = list_due(context, plan, list);
    if (count > 0) {
        const bool batch = vkf__learned_begin_batch(&context->learned);
        if (batch)
            status = compile(context, plan, list, count, out_refused);
        vkf__learned_end_batch(&context->learned);
        VKF_TRY(status);
        if (!*out_refused)
            VKF_TRY(test_all(context, list, count, batch, out_refused));
    }
fail:
    vkf__free(context->device.host, list);
    return status;
}

// *out_lost: whether one of the kernels lost its race.
static vkf_status race(vkf_context *context, const vkf__want *wants, size_t count, bool *out_lost)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool lost = false;
        VKF_RETURN_IF_ERROR(vkf__race_once(context, &wants[i], &lost));
        any = any || lost;
    }
    *out_lost = any;
    return VKF_OK;
}

vkf_status vkf__prove(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_again)
{
    bool again = false;
    if (context->tunes_on_first_use)
        VKF_RETURN_IF_ERROR(measure(context, plan->wants, plan->want_count, &again));
    if (context->self_tests && !again)
        VKF_RETURN_IF_ERROR(test(context, plan, &again));
    if (context->self_tests && !again)
        VKF_RETURN_IF_ERROR(race(context, plan->wants, plan->want_count, &again));
    *out_again = again;
    return VKF_OK;
}

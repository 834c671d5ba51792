// Listens to what plans give to be proven, which is the kernels that they chose.
#include "support/taken_kernel.h"

#include "kernel/work.h"
#include "support/heard.h"

void vkf_test_skip_unless_supported(const vkf_context *context, const char *variant)
{
    const vkf__variant wanted = vkf_test_variant_named(variant);
    if (!vkf__kernel_supported(&context->device.plan.caps, wanted.kernel, wanted.config, NULL))
        skip();
}

// A proof has no argument for a test's own data.
static struct {
    vkf__prove_fn prove; // the context's own
    vkf__op op;
    vkf__variant variant;
} watched;

static vkf_status note_kernels(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_again)
{
    for (size_t i = 0; i < plan->want_count; i++)
        if (plan->wants[i].op == watched.op)
            watched.variant = plan->wants[i].variant;
    return watched.prove ? watched.prove(context, plan, out_again) : VKF_OK;
}

void vkf_test_watch_kernels(vkf_context *context, vkf__op op)
{
    watched.prove = context->prove;
    watched.op = op;
    watched.variant = (vkf__variant){0};
    context->prove = note_kernels;
}

void vkf_test_unwatch_kernels(vkf_context *context)
{
    context->prove = watched.prove;
}

vkf__variant vkf_test_taken_variant(void)
{
    return watched.variant;
}

const char *vkf_test_taken_kernel(void)
{
    return watched.variant.kernel ? watched.variant.kernel->name : "no kernel";
}

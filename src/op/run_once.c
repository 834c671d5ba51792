// Takes one list of dispatches from its plan to its end, and keeps the time that it took.
#include "op/run_once.h"

// Leaves the GPU time of the run, and the kernel of its last dispatch, with the context.
static vkf_status measure(vkf_context *context, vkf__work *work)
{
    double total = 0;
    context->last_op_ns = -1;
    context->last_op_kernel = work->built.nodes[work->plan.node_count - 1].kernel->name;
    if (!vkf__work_timed(work))
        return VKF_OK;
    for (uint32_t i = 0; i < work->plan.node_count; i++) {
        double ns = 0;
        VKF_RETURN_IF_ERROR(vkf__work_time(work, i, &ns));
        total += ns;
    }
    context->last_op_ns = total;
    return VKF_OK;
}

vkf_status vkf__run_once(vkf_context *context, const char *name, vkf__emit_fn emit, const void *args)
{
    vkf_status status = VKF_OK;
    vkf__work work;
    vkf__submission submission = {0};
    vkf_buffer *arena = NULL;
    vkf__work_init(&work, context, name);
    VKF_TRY(vkf__work_plan_proven(&work, emit, args));
    if (work.plan.arena_bytes > 0)
        VKF_TRY(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, work.plan.arena_bytes, name, &arena));
    VKF_TRY(vkf__work_build(&work, arena, emit, args));
    VKF_TRY(vkf__submission_init(&submission, &context->device, name));
    VKF_TRY(vkf__work_record_own(&work, &submission));
    VKF_TRY(vkf__submission_run(&submission, &work.built.command_buffer, 1));
    VKF_TRY(measure(context, &work));
fail:
    vkf__work_finish(&work);
    vkf__submission_finish(&submission);
    vkf__buffer_destroy(&arena);
    return status;
}

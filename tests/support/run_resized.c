#include "support/run_resized.h"

vkf_status vkf_test_run_resized(vkf_context *context, const char *name, vkf__emit_fn emit, const void *largest,
                                const void *args)
{
    vkf_status status = VKF_OK;
    vkf__work work;
    vkf__submission submission = {0};
    vkf_buffer *arena = NULL;
    vkf__work_init(&work, context, name);
    VKF_TRY(vkf__work_plan_proven(&work, emit, largest));
    if (work.plan.arena_bytes > 0)
        VKF_TRY(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, work.plan.arena_bytes, name, &arena));
    VKF_TRY(vkf__work_build(&work, arena, emit, largest));
    VKF_TRY(vkf__submission_init(&submission, &context->device, name));
    VKF_TRY(vkf__work_record_own(&work, &submission));
    VKF_TRY(vkf__work_update(&work, emit, args));
    VKF_TRY(vkf__submission_run(&submission, &work.built.command_buffer, 1));
fail:
    vkf__work_finish(&work);
    vkf__submission_finish(&submission);
    vkf__buffer_destroy(&arena);
    return status;
}

// Public entry points that put a model's runs between a program's own submissions: <vkformer/vulkan.h>.
#include "api/interop_semaphores.h"
#include "api/models/session_check.h"
#include "base/sized.h"
#include "model/session/session_flight.h"
#include "model/session/session_prefill.h"
#include "model/session/session_run.h"

static vkf_status take(const vkf_session *session, const char *function, const vkf_session_submit_desc *desc,
                       vkf__taken_semaphores *taken, vkf__submit_semaphores *out_semaphores)
{
    const vkf__given_semaphores given = {desc->waits, desc->signals, desc->wait_count, desc->signal_count};
    return vkf__take_semaphores(&session->context->host, function, &given, taken, out_semaphores);
}

vkf_status vkf_session_submit_encode_sized(vkf_session *session, const vkf_encode_args *args, size_t args_bytes,
                                           const vkf_session_submit_desc *desc, size_t desc_bytes)
{
    static const char function[] = "vkf_session_submit_encode";
    vkf__taken_semaphores taken;
    vkf__submit_semaphores semaphores;
    if (!session || !args || !desc)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, function));
    VKF_TAKE_SIZED(&session->context->host, function, vkf_encode_args, args, args_bytes);
    VKF_TAKE_SIZED(&session->context->host, function, vkf_session_submit_desc, desc, desc_bytes);
    VKF_RETURN_IF_ERROR(vkf__session_check_encode_launch(session, args, function));
    VKF_RETURN_IF_ERROR(take(session, function, desc, &taken, &semaphores));
    return vkf__session_launch_encode(session, args, &semaphores);
}

vkf_status vkf_session_prepare_encode_sized(vkf_session *session, const vkf_encode_args *args, size_t args_bytes)
{
    static const char function[] = "vkf_session_prepare_encode";
    if (!session || !args)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, function));
    VKF_TAKE_SIZED(&session->context->host, function, vkf_encode_args, args, args_bytes);
    VKF_RETURN_IF_ERROR(vkf__session_check_encode_launch(session, args, function));
    return vkf__session_launch_encode(session, args, NULL);
}

static vkf_status fail_argument(const vkf_session *session, const char *function, const char *why)
{
    return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT, "%s: %s", function, why);
}

static bool has_group(const vkf_session *session, vkf__stage_group group)
{
    return session->group_begin[group] < session->group_begin[group + 1];
}

// The hidden states of a part come and go by callbacks, between which the host waits.
static vkf_status check_whole(const vkf_session *session, const char *function)
{
    return session->model->part.count == 0 ? VKF_OK : fail_argument(session, function, "the model is only a part");
}

// A vkf__step_fn, whose `user` is the semaphores; NULL: the step is only prepared.
static vkf_status launch_step(vkf_session *session, const vkf_prefill_args *args, const void *user)
{
    return vkf__session_launch_tokens(session, args, true, user);
}

static vkf_status step(vkf_session *session, const vkf_step_args *args, const char *function,
                       const vkf__submit_semaphores *semaphores)
{
    VKF_RETURN_IF_ERROR(check_whole(session, function));
    if (!has_group(session, VKF_STAGES_STEP))
        return fail_argument(session, function,
                             "the session runs no steps: the model is no DECODER, or max_target_len is 1");
    if (args->out_logits)
        return fail_argument(session, function,
                             "results stay on the device: leave out_logits NULL and see vkf_session_get_tensor()");
    return vkf__session_run_step(session, args, function, launch_step, semaphores);
}

vkf_status vkf_session_submit_step_sized(vkf_session *session, const vkf_step_args *args, size_t args_bytes,
                                         const vkf_session_submit_desc *desc, size_t desc_bytes)
{
    static const char function[] = "vkf_session_submit_step";
    vkf__taken_semaphores taken;
    vkf__submit_semaphores semaphores;
    if (!session || !args || !desc)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, function));
    VKF_TAKE_SIZED(&session->context->host, function, vkf_step_args, args, args_bytes);
    VKF_TAKE_SIZED(&session->context->host, function, vkf_session_submit_desc, desc, desc_bytes);
    VKF_RETURN_IF_ERROR(take(session, function, desc, &taken, &semaphores));
    return step(session, args, function, &semaphores);
}

vkf_status vkf_session_prepare_step_sized(vkf_session *session, const vkf_step_args *args, size_t args_bytes)
{
    static const char function[] = "vkf_session_prepare_step";
    if (!session || !args)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, function));
    VKF_TAKE_SIZED(&session->context->host, function, vkf_step_args, args, args_bytes);
    return step(session, args, function, NULL);
}

vkf_status vkf_session_submit_prefill_sized(vkf_session *session, const vkf_prefill_args *args, size_t args_bytes,
                                            const vkf_session_submit_desc *desc, size_t desc_bytes)
{
    static const char function[] = "vkf_session_submit_prefill";
    vkf__taken_semaphores taken;
    vkf__submit_semaphores semaphores;
    if (!session || !args || !desc)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, function));
    VKF_TAKE_SIZED(&session->context->host, function, vkf_prefill_args, args, args_bytes);
    VKF_TAKE_SIZED(&session->context->host, function, vkf_session_submit_desc, desc, desc_bytes);
    VKF_RETURN_IF_ERROR(take(session, function, desc, &taken, &semaphores));
    VKF_RETURN_IF_ERROR(check_whole(session, function));
    VKF_RETURN_IF_ERROR(vkf__session_check_prefill(session, args, function));
    if (args->out_logits || args->out_all_logits)
        return fail_argument(session, function,
                             "results stay on the device: leave out_logits and out_all_logits NULL and see "
                             "vkf_session_get_tensor()");
    return vkf__session_launch_tokens(session, args, false, &semaphores);
}

static vkf_status record(vkf_session *session, vkf__stage_group group, VkCommandBuffer command_buffer,
                         const char *function)
{
    if (!session)
        return vkf__null_argument(function);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, function));
    VKF_RETURN_IF_ERROR(check_whole(session, function));
    if (command_buffer == VK_NULL_HANDLE)
        return fail_argument(session, function, "the command buffer is null");
    if (session->desc.attention_weights)
        return fail_argument(session, function, "the session keeps attention_weights, which the host gathers");
    if (!has_group(session, group))
        return fail_argument(session, function, "the session has no such run");
    return vkf__batch_record(vkf__session_largest_batch(session, group), command_buffer, false);
}

vkf_status vkf_session_record_encode(vkf_session *session, VkCommandBuffer command_buffer)
{
    return record(session, VKF_STAGES_ENCODE, command_buffer, __func__);
}

vkf_status vkf_session_record_step(vkf_session *session, VkCommandBuffer command_buffer)
{
    const bool tokens = session && vkf__facts_of(&session->model->config)->prompts;
    return session && !tokens ? fail_argument(session, __func__, "the model is no DECODER")
                              : record(session, VKF_STAGES_STEP, command_buffer, __func__);
}

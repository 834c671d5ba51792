// Public entry point of generation. All arguments are checked here, before anything is written.
#include "api/check.h"
#include "api/models/session_check.h"
#include "base/sized.h"
#include "model/generate/generation.h"
#include "model/session/session_flight.h"

static vkf_status fail_argument(const vkf_session *session, const char *why)
{
    return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT, "vkf_session_generate: %s", why);
}

static vkf_status check_prompts(const vkf_session *session, const vkf_generate_args *args)
{
    const vkf__host *host = &session->context->host;
    const vkf_model_config *config = &session->model->config;
    uint32_t vocab = vkf__text_vocab(config);
    const int32_t *id = args->prompt_ids;
    for (uint32_t row = 0; row < args->batch; row++) {
        if (args->prompt_lengths[row] == 0)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "vkf_session_generate: prompt %u is empty", row);
        for (uint32_t t = 0; t < args->prompt_lengths[row]; t++, id++)
            if (*id < 0 || (uint32_t)*id >= vocab)
                return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                                 "vkf_session_generate: token id %d in prompt %u is outside the vocabulary of %u", *id,
                                 row, vocab);
    }
    return VKF_OK;
}

vkf_status vkf__check_choice_of_tokens(const vkf__host *host, const char *function, const vkf_sampling *sampling,
                                       const vkf_beam_search *beams)
{
    VKF_RETURN_IF_ERROR(
        vkf__check_reserved(host, function, "vkf_sampling", sampling->reserved, sizeof sampling->reserved));
    return vkf__check_reserved(host, function, "vkf_beam_search", beams->reserved, sizeof beams->reserved);
}

vkf_status vkf_session_generate_sized(vkf_session *session, const vkf_generate_args *args, size_t args_bytes)
{
    if (!session || !args)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__session_enter(session, "vkf_session_generate");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&session->context->host, "vkf_session_generate", vkf_generate_args, args, args_bytes);
    VKF_RETURN_IF_ERROR(
        vkf__check_choice_of_tokens(&session->context->host, "vkf_session_generate", &args->sampling, &args->beams));
    if (!vkf__facts_of(&session->model->config)->generates || session->desc.max_target_len < 2)
        return fail_argument(session, "the model does not generate tokens, or max_target_len is below 2");
    if (args->batch == 0 || !args->prompt_ids || !args->prompt_lengths || !args->out_ids || !args->out_lengths ||
        (args->stop_count > 0 && !args->stop_ids))
        return fail_argument(session,
                             "batch is 0, or prompt_ids, prompt_lengths, out_ids, out_lengths or stop_ids NULL");
    if (args->batch > session->desc.max_batch)
        return vkf__fail(vkf__limited(&session->context->host, "max_batch", args->batch, session->desc.max_batch),
                         VKF_ERROR_TOO_LARGE, "vkf_session_generate: batch %u beyond the session's %u", args->batch,
                         session->desc.max_batch);
    VKF_RETURN_IF_ERROR(check_prompts(session, args));
    return vkf__session_generate(session, args);
}

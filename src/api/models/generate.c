// Public entry points of generation. All arguments are checked here, before anything is written.
#include "api/check.h"
#include "api/models/session_check.h"
#include "base/sized.h"
#include "model/generate/generation.h"
#include "model/session/session_flight.h"

// A generation of a caller's, by turns.
struct vkf_generation {
    vkf__generation g;
    vkf_generate_args args; // that it points to
    bool ended;             // nothing is left to run, or a turn failed
};

static vkf_status check_prompts(const vkf_session *session, const char *function, const vkf_generate_args *args)
{
    const vkf__host *host = &session->context->host;
    const vkf_model_config *config = &session->model->config;
    uint32_t vocab = vkf__text_vocab(config);
    const int32_t *id = args->prompt_ids;
    for (uint32_t row = 0; row < args->batch; row++) {
        if (args->prompt_lengths[row] == 0)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: prompt %u is empty", function, row);
        for (uint32_t t = 0; t < args->prompt_lengths[row]; t++, id++)
            if (*id < 0 || (uint32_t)*id >= vocab)
                return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                                 "%s: token id %d in prompt %u is outside the vocabulary of %u", function, *id, row,
                                 vocab);
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

// Checks what came from the caller, but for its size.
static vkf_status check_args(const vkf_session *session, const char *function, const vkf_generate_args *args)
{
    const vkf__host *host = &session->context->host;
    VKF_RETURN_IF_ERROR(vkf__check_choice_of_tokens(host, function, &args->sampling, &args->beams));
    if (!vkf__facts_of(&session->model->config)->generates || session->desc.max_target_len < 2)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: the model does not generate tokens, or max_target_len is below 2", function);
    if (args->batch == 0 || !args->prompt_ids || !args->prompt_lengths || !args->out_ids || !args->out_lengths ||
        (args->stop_count > 0 && !args->stop_ids))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: batch is 0, or prompt_ids, prompt_lengths, out_ids, out_lengths or stop_ids NULL",
                         function);
    if (args->batch > session->desc.max_batch)
        return vkf__fail(vkf__limited(host, "max_batch", args->batch, session->desc.max_batch), VKF_ERROR_TOO_LARGE,
                         "%s: batch %u beyond the session's %u", function, args->batch, session->desc.max_batch);
    return check_prompts(session, function, args);
}

vkf_status vkf_session_generate_sized(vkf_session *session, const vkf_generate_args *args, size_t args_bytes)
{
    static const char function[] = "vkf_session_generate";
    if (!session || !args)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, function));
    VKF_TAKE_SIZED(&session->context->host, function, vkf_generate_args, args, args_bytes);
    VKF_RETURN_IF_ERROR(check_args(session, function, args));
    return vkf__session_generate(session, args);
}

// ---- in turns

static vkf_status begin(vkf_session *session, const vkf_generate_args *args, size_t args_bytes, const char *function,
                        bool submits, vkf_generation **out_generation)
{
    if (!session || !args || !out_generation)
        return vkf__null_argument(function);
    vkf_status status = vkf__session_enter(session, function);
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&session->context->host, function, vkf_generate_args, args, args_bytes);
    VKF_RETURN_IF_ERROR(check_args(session, function, args));
    vkf_generation *generation = NULL;
    VKF_ALLOC_OR_RETURN(&session->context->host, generation, 1);
    generation->args = *args;
    generation->g = (vkf__generation){.session = session, .args = &generation->args, .submits = submits};
    session->references++;
    session->in_turns = true;
    VKF_TRY(vkf__generation_begin(&generation->g));
    *out_generation = generation;
    return VKF_OK;
fail:
    vkf_generation_destroy(&generation);
    return status;
}

vkf_status vkf_generation_begin_sized(vkf_session *session, const vkf_generate_args *args, size_t args_bytes,
                                      vkf_generation **out_generation)
{
    return begin(session, args, args_bytes, "vkf_generation_begin", false, out_generation);
}

vkf_status vkf_generation_submit_sized(vkf_session *session, const vkf_generate_args *args, size_t args_bytes,
                                       vkf_generation **out_generation)
{
    return begin(session, args, args_bytes, "vkf_generation_submit", true, out_generation);
}

vkf_status vkf_generation_turn(vkf_generation *generation, bool *out_more)
{
    bool more = false;
    if (!generation || !out_more)
        return vkf__null_argument(__func__);
    vkf_context *context = generation->g.session->context;
    VKF_RETURN_IF_ERROR(vkf__context_enter(context, __func__));
    if (generation->ended)
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT, "%s: the generation has ended", __func__);
    const vkf_status status = vkf__generation_turn(&generation->g, &more);
    generation->ended = status != VKF_OK || !more;
    if (status != VKF_OK)
        return status;
    if (!more)
        vkf__generation_give(&generation->g);
    *out_more = more;
    return VKF_OK;
}

void vkf_generation_destroy(vkf_generation **generation)
{
    if (!generation || !*generation)
        return;
    vkf_session *session = (*generation)->g.session;
    if (!vkf__context_is_inherited(session->context)) {
        vkf__generation_end(&(*generation)->g);
        vkf__free(&session->context->host, *generation);
        session->in_turns = false;
        vkf__session_drop(session);
    }
    *generation = NULL;
}

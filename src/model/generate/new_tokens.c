// Says which new tokens are forced or end a sequence, and writes them into the session.
#include "model/generate/new_tokens.h"
#include "model/session/prompt.h"
#include "model/session/session_layout.h"

static bool contains(const int32_t *ids, uint32_t count, int32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

bool vkf__generation_ends(const vkf__generation *g, int32_t token)
{
    const vkf_model_config *config = &g->session->model->config;
    // The project's own SEQ2SEQ models have a single end token.
    bool eos = config->eos_count > 0 ? contains(config->eos_ids, config->eos_count, token)
                                     : vkf__facts_of(config)->encodes && token == config->eos_id;
    return eos || contains(g->args->stop_ids, g->args->stop_count, token);
}

bool vkf__generation_caller_ends(const vkf__generation *g, uint32_t row, const int32_t *tokens, uint32_t count)
{
    return g->args->ends && count > 0 && g->args->ends(g->args->ends_user, row, tokens, count);
}

bool vkf__generation_forces(const vkf__generation *g, uint32_t made, int32_t *out_token)
{
    const vkf_model_config *config = &g->session->model->config;
    bool first = made == 0 && config->forced_bos, last = made + 1 == g->max_new && config->forced_eos;
    if (!vkf__facts_of(config)->start_token || (!first && !last))
        return false;
    *out_token = last ? config->forced_eos_id : config->forced_bos_id;
    return true;
}

uint64_t vkf__generation_place(const vkf__generation *g, uint32_t row, uint32_t index)
{
    uint64_t place = vkf__ids_lead(g->session) + (uint64_t)vkf__prompt_end(g->session, &g->prompt) + index;
    return (uint64_t)row * vkf__ids_row(g->session) + place;
}

vkf_status vkf__generation_write_token(const vkf__generation *g, uint32_t row, uint32_t index, int32_t token)
{
    const vkf__span *ids = &g->session->spans.target_ids;
    return vkf_buffer_write(ids->buffer, ids->offset_bytes + vkf__generation_place(g, row, index) * sizeof token,
                            &token, sizeof token);
}

// `seen` has one bit for each token of the vocabulary.
static vkf_status mark(const vkf_session *session, uint32_t *seen, const int32_t *ids, uint32_t count)
{
    uint32_t vocab = session->model->config.target_vocab;
    for (uint32_t i = 0; i < count; i++) {
        if (ids[i] < 0 || (uint32_t)ids[i] >= vocab)
            return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                             "token id %d of a sequence is outside the vocabulary of %u", ids[i], vocab);
        seen[(uint32_t)ids[i] / 32] |= 1u << (uint32_t)ids[i] % 32;
    }
    return VKF_OK;
}

vkf_status vkf__generation_write_seen(const vkf__generation *g, uint32_t row, uint32_t source, const int32_t *tokens,
                                      uint32_t count)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &g->session->model->config;
    const vkf__span *span = &g->session->spans.seen;
    size_t words = (config->target_vocab + 31u) / 32u;
    const int32_t *prompt = g->args->prompt_ids;
    uint32_t *seen = NULL;
    for (uint32_t i = 0; i < source; i++)
        prompt += g->args->prompt_lengths[i];
    VKF_ALLOC(&g->session->context->host, seen, words);
    if (vkf__facts_of(config)->start_token)
        VKF_TRY(mark(g->session, seen, &config->bos_id, 1));
    else
        VKF_TRY(mark(g->session, seen, prompt, g->args->prompt_lengths[source]));
    VKF_TRY(mark(g->session, seen, tokens, count));
    VKF_TRY(
        vkf_buffer_write(span->buffer, span->offset_bytes + row * words * sizeof *seen, seen, words * sizeof *seen));
fail:
    vkf__free(&g->session->context->host, seen);
    return status;
}

vkf__session_sizes vkf__generation_step(const vkf__generation *g, uint32_t made)
{
    return (vkf__session_sizes){
        .batch = g->args->batch,
        .source_len = vkf__facts_of(&g->session->model->config)->encodes ? g->prompt.len : 0,
        .target_len = 1,
        .target_past = vkf__prompt_end(g->session, &g->prompt) + made - 1,
        .logit_rows = 1,
        .samples = !g->args->choose,
    };
}

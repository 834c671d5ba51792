// Lets the caller choose new tokens from their logits.
#include <math.h>

#include "model/generate/generation_choice.h"
#include "model/generate/new_tokens.h"
#include "model/load/finite.h"
#include "model/session/session_results.h"

// Whether something can be chosen: no logit is NaN or plus infinity, and one is finite.
static bool choosable(const float *logits, uint32_t vocab)
{
    float largest = -INFINITY;
    for (uint32_t i = 0; i < vocab; i++) {
        if (isnan(logits[i]))
            return false;
        largest = logits[i] > largest ? logits[i] : largest;
    }
    return isfinite(largest);
}

static vkf_status choose(const vkf__generation *g, uint32_t row, uint32_t made, float *logits)
{
    const vkf_model_config *config = &g->session->model->config;
    const uint32_t vocab = config->target_vocab;
    if (!choosable(logits, vocab))
        return vkf__not_finite(g->session, "sequence %u of the batch: the logits of new token %u", row, made);
    for (uint32_t i = 0; i < config->banned_count; i++)
        logits[config->banned_ids[i]] = -INFINITY;
    const int32_t token = g->args->choose(g->args->choose_user, row, logits, vocab);
    if (token < 0 || (uint32_t)token >= vocab)
        return vkf__fail(&g->session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "`choose` gave token id %d for row %u, which is outside the vocabulary of %u", token, row,
                         vocab);
    return vkf__generation_write_token(g, row, made, token);
}

vkf_status vkf__generation_choose(const vkf__generation *g, uint32_t made, const bool *ended)
{
    const vkf__span *span = &g->session->spans.logits;
    const uint64_t row_bytes = g->session->model->config.target_vocab * sizeof *g->logits;
    for (uint32_t row = 0; row < g->args->batch; row++) {
        if (ended[row])
            continue;
        VKF_RETURN_IF_ERROR(vkf_buffer_read(span->buffer, span->offset_bytes + row * row_bytes, g->logits, row_bytes));
        VKF_RETURN_IF_ERROR(choose(g, row, made, g->logits));
    }
    return VKF_OK;
}

// Writes prompts into a session and runs them, part by part for a DECODER, through the encoder for a SEQ2SEQ model.
#include "model/session/prompt.h"

#include <string.h>

#include "model/family/rotary_rows.h"
#include "model/session/cached_rows.h"
#include "model/session/session_flight.h"
#include "model/session/session_layout.h"
#include "model/session/session_run.h"

static bool has_source(const vkf_session *session)
{
    return vkf__facts_of(&session->model->config)->encodes;
}

static size_t row_of(const vkf_session *session, const vkf__prompt *p)
{
    return vkf__ids_lead(session) + (size_t)p->len;
}

void vkf__prompt_free(const vkf_session *session, vkf__prompt *prompt)
{
    vkf__free(&session->context->host, prompt->ids);
    vkf__free(&session->context->host, prompt->hidden);
}

vkf_status vkf__prompt_make(const vkf_session *session, uint32_t batch, uint32_t len, vkf__prompt *out_prompt)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    vkf__prompt p = {.batch = batch, .len = len};
    VKF_ALLOC(host, p.ids, batch * row_of(session, &p));
    if (!has_source(session))
        VKF_ALLOC(host, p.hidden, (size_t)batch * session->desc.max_target_len);
    *out_prompt = p;
    return VKF_OK;
fail:
    vkf__prompt_free(session, &p);
    return status;
}

void vkf__prompt_set(const vkf_session *session, const vkf__prompt *prompt, uint32_t row, const int32_t *tokens,
                     uint32_t count)
{
    uint32_t padding = prompt->len - count;
    int32_t *ids = prompt->ids + row * row_of(session, prompt);
    for (uint32_t t = 0; t < row_of(session, prompt); t++)
        ids[t] = session->model->config.pad_id;
    if (has_source(session)) {
        memcpy(ids, tokens, count * sizeof *ids);
        return;
    }
    ids[0] = (int32_t)padding;
    memcpy(ids + 1 + padding, tokens, count * sizeof *ids);
    memset(prompt->hidden + (size_t)row * session->desc.max_target_len, 1, padding);
}

// With dynamic scaling the rotations of a prompt's positions depend on its length. Those of each position after it
// depend on how long the sequence is there.
static vkf_status write_rotations(vkf_session *session, uint32_t len)
{
    vkf_status status = VKF_OK;
    const vkf_rotary_config *rotary = &session->model->config.rotary;
    const vkf__span *span = &session->spans.rotary;
    uint32_t context = session->desc.max_target_len;
    float *rows = NULL;
    if (rotary->dynamic_from == 0)
        return VKF_OK;
    VKF_ALLOC(&session->context->host, rows, (size_t)context * rotary->dim);
    vkf__rotary_rows(rotary, 0, len, len, rows);
    vkf__rotary_rows(rotary, len, context - len, 0, rows + (size_t)len * rotary->dim);
    VKF_TRY(vkf_buffer_write(span->buffer, span->offset_bytes, rows, span->size_bytes));
fail:
    vkf__free(&session->context->host, rows);
    return status;
}

uint32_t vkf__prompt_padding(const vkf_session *session, const vkf__prompt *prompt, uint32_t row)
{
    return has_source(session) ? 0 : (uint32_t)prompt->ids[row * row_of(session, prompt)];
}

const int32_t *vkf__prompt_tokens(const vkf_session *session, const vkf__prompt *prompt, uint32_t row)
{
    return prompt->ids + row * row_of(session, prompt) + vkf__ids_lead(session) +
           vkf__prompt_padding(session, prompt, row);
}

// The key mask of a row hides its padding. A row that has as much of it as before needs no new mask.
static vkf_status write_mask(vkf_session *session, const vkf__prompt *p, uint32_t row, uint32_t to)
{
    const vkf__span *mask = &session->spans.target_key_mask;
    const uint32_t context = session->desc.max_target_len, padding = vkf__prompt_padding(session, p, row);
    vkf__cached_row *cached = &session->rows[to];
    if (!vkf__present(mask) || cached->hidden == padding)
        return VKF_OK;
    cached->hidden = UINT32_MAX;
    VKF_RETURN_IF_ERROR(vkf_buffer_write(mask->buffer, mask->offset_bytes + (uint64_t)to * context,
                                         p->hidden + (size_t)row * context, context));
    cached->hidden = padding;
    return VKF_OK;
}

static vkf_status write_row(vkf_session *session, const vkf__prompt *p, uint32_t row, uint32_t to)
{
    const vkf__span *ids = &session->spans.target_ids;
    VKF_RETURN_IF_ERROR(vkf_buffer_write(ids->buffer,
                                         ids->offset_bytes + (uint64_t)to * vkf__ids_row(session) * sizeof(int32_t),
                                         p->ids + row * row_of(session, p), row_of(session, p) * sizeof(int32_t)));
    return write_mask(session, p, row, to);
}

vkf_status vkf__prompt_write(vkf_session *session, const vkf__prompt *prompt, uint32_t beams)
{
    if (has_source(session))
        return VKF_OK; // the encoder's run writes the source, once for all beams
    for (uint32_t row = 0; row < prompt->batch * beams; row++)
        VKF_RETURN_IF_ERROR(write_row(session, prompt, row / beams, row));
    return write_rotations(session, prompt->len);
}

uint32_t vkf__prompt_end(const vkf_session *session, const vkf__prompt *prompt)
{
    return has_source(session) ? 1 : prompt->len;
}

static bool keep_going(const vkf_generate_args *args, uint32_t done, uint32_t total)
{
    return !args->progress || args->progress(args->progress_user, done, total, "positions");
}

static vkf_status run(vkf_session *session, vkf__stage_group group, const vkf__session_sizes *sizes, bool submits)
{
    return submits ? vkf__session_launch(session, group, sizes, &(vkf__submit_semaphores){0})
                   : vkf__session_run(session, group, sizes);
}

static vkf_status run_source(vkf_session *session, const vkf_generate_args *args, const vkf__prompt *p,
                             uint32_t candidates, bool submits)
{
    const vkf_encode_args encode = {
        .batch = p->batch,
        .source_len = p->len,
        .source_ids = p->ids,
        .source_lengths = args->prompt_lengths, // within them even a padding token belongs to the text
    };
    const vkf__session_sizes sizes = {
        .batch = p->batch,
        .source_len = p->len,
        .target_len = 1,
        .logit_rows = 1,
        .samples = candidates == 0 && !args->choose,
        .searches = candidates > 0,
        .candidates = candidates,
        .project_memory = true,
    };
    if (!keep_going(args, 0, p->len))
        return VKF_ERROR_CANCELLED;
    VKF_RETURN_IF_ERROR(vkf__session_encode(session, &encode));
    VKF_RETURN_IF_ERROR(vkf__session_write_first_tokens(session, p->batch));
    VKF_RETURN_IF_ERROR(run(session, VKF_STAGES_STEP, &sizes, submits));
    session->memory_cached = true;
    return VKF_OK;
}

vkf_status vkf__prompt_run(vkf_session *session, const vkf_generate_args *args, const vkf__prompt *prompt,
                           uint32_t first, uint32_t candidates, bool submits)
{
    uint32_t part = session->desc.max_prompt_len, len = prompt->len;
    if (has_source(session))
        return run_source(session, args, prompt, candidates, submits);
    VKF_RETURN_IF_ERROR(vkf__prompt_write(session, prompt, 1));
    for (uint32_t past = first; past < len; past += part) {
        bool last = len - past <= part;
        const vkf__session_sizes sizes = {
            .batch = prompt->batch,
            .target_len = last ? len - past : part,
            .target_past = past,
            .logit_rows = last ? 1 : 0,
            .samples = last && candidates == 0 && !args->choose,
            .searches = last && candidates > 0,
            .candidates = last ? candidates : 0,
        };
        if (!keep_going(args, past, len))
            return VKF_ERROR_CANCELLED;
        VKF_RETURN_IF_ERROR(run(session, VKF_STAGES_DECODE, &sizes, last && submits));
    }
    return VKF_OK;
}

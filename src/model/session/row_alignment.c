// Moves rows of the cache to where a run needs them.
#include "model/session/row_alignment.h"

#include <math.h>
#include <string.h>

#include "model/session/cached_rows.h"
#include "model/session/session_layout.h"
#include "model/session/session_run.h"
#include "vk/buffer.h"

// A row's first `count` tokens on their way to another place of the cache.
typedef struct row_move {
    const vkf_session *session;
    uint32_t row, from, to, count;
    float *keys; // scratch
} row_move;

static uint64_t width_of(const vkf_session *session)
{
    const vkf__stack stack = vkf__stack_of(&session->model->config, true);
    return (uint64_t)stack.kv_heads * stack.head_dim;
}

// The first element of place `place` in the row.
static uint64_t element_of(const row_move *m, uint32_t place)
{
    return ((uint64_t)m->row * vkf__cache_len(m->session) + place) * width_of(m->session);
}

static vkf_status move_as_it_is(const row_move *m, const vkf__span *cache)
{
    const uint64_t element = vkf_dtype_size(cache->dtype), width = width_of(m->session);
    return vkf__buffer_move(cache->buffer, cache->offset_bytes + element_of(m, m->from) * element,
                            cache->offset_bytes + element_of(m, m->to) * element, m->count * width * element);
}

// Turns a head of keys by `cosines` and `sines`, as op/rotary.h does.
static void turn_head(float *head, uint32_t half, const float *cosines, const float *sines)
{
    for (uint32_t i = 0; i < half; i++) {
        const float low = head[i], high = head[i + half];
        head[i] = low * cosines[i] - high * sines[i];
        head[i + half] = high * cosines[i] + low * sines[i];
    }
}

// Keys are rotated by their places in the cache, and so turn with them.
static void turn_keys(const row_move *m, const vkf_rotary_config *rotary)
{
    float cosines[VKF_MAX_ROTARY_DIM / 2], sines[VKF_MAX_ROTARY_DIM / 2];
    const uint32_t half = rotary->dim / 2, head_dim = vkf__stack_of(&m->session->model->config, true).head_dim;
    const uint64_t heads = m->count * width_of(m->session) / head_dim;
    for (uint32_t i = 0; i < half; i++) {
        const double angle = ((double)m->to - (double)m->from) * (double)rotary->inverse_frequency[i];
        cosines[i] = (float)cos(angle);
        sines[i] = (float)sin(angle);
    }
    for (uint64_t head = 0; head < heads; head++)
        turn_head(m->keys + head * head_dim, half, cosines, sines);
}

static const vkf_rotary_config *rotary_of(const vkf_session *session, uint32_t layer)
{
    const vkf_model_config *config = &session->model->config;
    const bool windowed = config->windowed_layers[layer / 32] >> layer % 32 & 1;
    return windowed && config->window_rotary.dim > 0 ? &config->window_rotary : &config->rotary;
}

static vkf_status move_layer(const row_move *m, uint32_t layer)
{
    const vkf__session_spans *s = &m->session->spans;
    const vkf_rotary_config *rotary = rotary_of(m->session, layer);
    const uint64_t count = m->count * width_of(m->session);
    VKF_RETURN_IF_ERROR(move_as_it_is(m, &s->self_v[layer]));
    if (rotary->dim == 0)
        return move_as_it_is(m, &s->self_k[layer]);
    const vkf__span from = vkf__span_part(&s->self_k[layer], element_of(m, m->from), count);
    const vkf__span to = vkf__span_part(&s->self_k[layer], element_of(m, m->to), count);
    VKF_RETURN_IF_ERROR(vkf__span_read_floats(&from, m->keys, count));
    turn_keys(m, rotary);
    return vkf__span_write_floats(&to, m->keys, count);
}

static vkf_status move_row(const vkf_session *session, uint32_t row, uint32_t to, uint32_t count)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    row_move m = {.session = session, .row = row, .from = session->rows[row].begin, .to = to, .count = count};
    VKF_ALLOC(host, m.keys, (size_t)(count * width_of(session)));
    for (uint32_t layer = 0; layer < session->model->config.num_decoder_layers; layer++)
        VKF_TRY(move_layer(&m, layer));
fail:
    vkf__free(host, m.keys);
    return status;
}

// Where the frequencies depend on how long the text is, nothing tells by which ones a key was rotated.
static bool can_move(const vkf_session *session)
{
    const vkf_model_config *config = &session->model->config;
    return config->rotary.dynamic_from == 0 && config->window_rotary.dynamic_from == 0;
}

uint32_t vkf__rows_first(const vkf_session *session, const vkf__prompt *prompt, const uint32_t *keep)
{
    uint32_t first = prompt->len;
    for (uint32_t row = 0; row < prompt->batch; row++) {
        const uint32_t begin = vkf__prompt_padding(session, prompt, row);
        const bool kept = keep && (begin == session->rows[row].begin || can_move(session));
        const uint32_t end = begin + (kept ? keep[row] : 0);
        if (begin < prompt->len)
            first = end < first ? end : first;
    }
    return first;
}

vkf_status vkf__rows_align(vkf_session *session, const vkf__prompt *prompt, const uint32_t *keep, uint32_t *out_first)
{
    const uint32_t first = session->rows ? vkf__rows_first(session, prompt, keep) : 0;
    for (uint32_t row = 0; session->rows && row < prompt->batch; row++) {
        const uint32_t begin = vkf__prompt_padding(session, prompt, row);
        if (begin == prompt->len)
            continue;
        session->rows[row].count = 0;
        if (first > begin && begin != session->rows[row].begin)
            VKF_RETURN_IF_ERROR(move_row(session, row, begin, first - begin));
        session->rows[row].begin = begin;
    }
    *out_first = keep ? first : 0;
    return VKF_OK;
}

void vkf__rows_keep(vkf_session *session, const vkf__prompt *prompt)
{
    for (uint32_t row = 0; session->rows && row < prompt->batch; row++) {
        vkf__cached_row *cached = &session->rows[row];
        const uint32_t begin = vkf__prompt_padding(session, prompt, row);
        if (begin == prompt->len)
            continue;
        cached->begin = begin;
        cached->count = prompt->len - begin;
        memcpy(vkf__row_ids(session, row), vkf__prompt_tokens(session, prompt, row),
               cached->count * sizeof *session->row_ids);
    }
}

// Keeps account of the cache's rows, and appends a caller's tokens to them.
#include "model/cached_rows.h"

#include <math.h>
#include <string.h>

#include "model/session_run.h"
#include "vk/buffer.h"

vkf_status vkf__rows_make(vkf_session *session)
{
    const vkf__host *host = &session->context->host;
    const vkf_session_desc *desc = &session->desc;
    if (!vkf__facts_of(&session->model->config)->prompts)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(host, session->rows, (size_t)desc->max_batch * desc->max_beams);
    VKF_ALLOC_OR_RETURN(host, session->row_ids, (size_t)desc->max_batch * desc->max_target_len);
    return VKF_OK;
}

void vkf__rows_free(vkf_session *session)
{
    vkf__free(&session->context->host, session->rows);
    vkf__free(&session->context->host, session->row_ids);
}

int32_t *vkf__row_ids(const vkf_session *session, uint32_t row)
{
    return session->row_ids + (size_t)row * session->desc.max_target_len;
}

void vkf__rows_forget(vkf_session *session)
{
    for (uint32_t row = 0; session->rows && row < session->desc.max_batch; row++)
        session->rows[row].count = 0;
}

uint32_t vkf__row_common(const vkf_session *session, uint32_t row, const int32_t *tokens, uint32_t count)
{
    const int32_t *ids = vkf__row_ids(session, row);
    const uint32_t most = session->rows[row].count < count ? session->rows[row].count : count;
    uint32_t common = 0;
    while (common < most && ids[common] == tokens[common])
        common++;
    return common;
}

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
static void turn_keys(const row_move *m, const vkf_rotary *rotary)
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

static const vkf_rotary *rotary_of(const vkf_session *session, uint32_t layer)
{
    const vkf_model_config *config = &session->model->config;
    const bool windowed = config->windowed_layers[layer / 32] >> layer % 32 & 1;
    return windowed && config->window_rotary.dim > 0 ? &config->window_rotary : &config->rotary;
}

static vkf_status move_layer(const row_move *m, uint32_t layer)
{
    const vkf__session_spans *s = &m->session->spans;
    const vkf_rotary *rotary = rotary_of(m->session, layer);
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

void vkf__row_add(vkf_session *session, uint32_t row, const int32_t *tokens, uint32_t count)
{
    if (!session->rows)
        return;
    memcpy(vkf__row_ids(session, row) + session->rows[row].count, tokens, count * sizeof *tokens);
    session->rows[row].count += count;
}

// ---- a caller's tokens

// One call: the prompt is what the rows hold and the new tokens behind it.
typedef struct appended {
    vkf_session *session;
    const vkf_prefill_args *args;
    vkf__prompt prompt;
    uint32_t *keep; // (B), tokens that the rows hold already
    uint32_t first; // the place from which on the prompt runs
} appended;

// Rows without new tokens stay where they are if the cache has room for the new ones of the others behind them. If not,
// they are rows like the others, and run some of their last tokens again.
static bool rows_stay(const appended *a, uint32_t *out_len)
{
    uint32_t longest = 0, stay_end = 0, most_new = 0;
    for (uint32_t row = 0; row < a->args->batch; row++) {
        const vkf__cached_row *cached = &a->session->rows[row];
        const uint32_t count = a->args->counts[row], end = cached->begin + cached->count;
        most_new = count > most_new ? count : most_new;
        if (count == 0 && cached->count > 0)
            stay_end = end > stay_end ? end : stay_end;
        else if (count > 0)
            longest = cached->count + count > longest ? cached->count + count : longest;
    }
    const bool stay = most_new + (uint64_t)stay_end <= a->session->desc.max_target_len;
    if (stay)
        longest = most_new + stay_end > longest ? most_new + stay_end : longest;
    for (uint32_t row = 0; !stay && row < a->args->batch; row++)
        longest = a->session->rows[row].count > longest ? a->session->rows[row].count : longest;
    *out_len = longest;
    return stay;
}

// The new tokens become part of a row when the run has succeeded.
static vkf_status gather(appended *a)
{
    vkf_session *session = a->session;
    const int32_t *ids = a->args->ids;
    uint32_t len = 0;
    const bool stay = rows_stay(a, &len);
    VKF_ALLOC_OR_RETURN(&session->context->host, a->keep, a->args->batch);
    VKF_RETURN_IF_ERROR(vkf__prompt_make(session, a->args->batch, len, &a->prompt));
    for (uint32_t row = 0; row < a->args->batch; row++) {
        const uint32_t count = a->args->counts[row], held = session->rows[row].count;
        int32_t *row_ids = vkf__row_ids(session, row);
        a->keep[row] = held;
        if (count > 0)
            memcpy(row_ids + held, ids, count * sizeof *ids);
        ids += count;
        vkf__prompt_set(session, &a->prompt, row, row_ids, count == 0 && stay ? 0 : held + count);
    }
    return VKF_OK;
}

// The logits of all new tokens that lie in a part of the run.
static vkf_status read_all(const appended *a, const vkf__session_sizes *sizes)
{
    const vkf__span *logits = &a->session->spans.logits;
    const uint64_t vocab = a->session->model->config.target_vocab;
    const uint32_t end = sizes->target_past + sizes->target_len;
    float *out = a->args->out_all_logits;
    for (uint32_t row = 0; row < sizes->batch; row++) {
        const uint32_t begin = a->prompt.len - a->args->counts[row];
        const uint32_t from = begin > sizes->target_past ? begin : sizes->target_past;
        const uint64_t place = (uint64_t)row * sizes->target_len + from - sizes->target_past;
        if (from < end)
            VKF_RETURN_IF_ERROR(vkf_buffer_read(logits->buffer, logits->offset_bytes + place * vocab * sizeof *out,
                                                out + (from - begin) * vocab, (end - from) * vocab * sizeof *out));
        out += a->args->counts[row] * vocab;
    }
    return VKF_OK;
}

// The logits of the last position of each row that has new tokens.
static vkf_status read_last(const appended *a, const vkf__session_sizes *sizes)
{
    const vkf__span *logits = &a->session->spans.logits;
    const uint64_t row_bytes = a->session->model->config.target_vocab * sizeof(float);
    for (uint32_t row = 0; row < sizes->batch; row++) {
        const uint64_t place = (uint64_t)(row + 1) * sizes->logit_rows - 1;
        if (a->args->counts[row] == 0)
            continue;
        VKF_RETURN_IF_ERROR(vkf_buffer_read(logits->buffer, logits->offset_bytes + place * row_bytes,
                                            a->args->out_logits + row * (size_t)(row_bytes / sizeof(float)),
                                            row_bytes));
    }
    return VKF_OK;
}

static uint32_t part_of(const appended *a)
{
    const vkf_session_desc *desc = &a->session->desc;
    const bool narrow = a->args->out_all_logits && desc->max_logit_rows < desc->max_prompt_len;
    return narrow ? desc->max_logit_rows : desc->max_prompt_len;
}

// The kernels of steps are those for one position.
static vkf__stage_group group_of(const appended *a)
{
    const size_t *begin = a->session->group_begin;
    const bool steps = begin[VKF_STAGES_STEP] < begin[VKF_STAGES_COUNT];
    return steps && a->prompt.len - a->first == 1 ? VKF_STAGES_STEP : VKF_STAGES_DECODE;
}

static vkf_status run_part(const appended *a, uint32_t past, uint32_t positions)
{
    const vkf_prefill_args *args = a->args;
    const bool last = past + positions == a->prompt.len;
    const vkf__stage_group group = group_of(a);
    const vkf__session_sizes sizes = {
        .batch = args->batch,
        .target_len = positions,
        .target_past = past,
        .logit_rows = args->out_all_logits                                     ? positions
                      : last && (args->out_logits || group == VKF_STAGES_STEP) ? 1
                                                                               : 0,
    };
    VKF_RETURN_IF_ERROR(vkf__session_run(a->session, group, &sizes));
    if (args->out_all_logits)
        VKF_RETURN_IF_ERROR(read_all(a, &sizes));
    return args->out_logits && last ? read_last(a, &sizes) : VKF_OK;
}

// Runs the positions that have to run, up to `len`.
static vkf_status run_parts(const appended *a, uint32_t len)
{
    const vkf_prefill_args *args = a->args;
    const uint32_t part = part_of(a);
    for (uint32_t past = a->first; past < len; past += part) {
        if (args->progress && !args->progress(args->progress_user, past, len, "positions"))
            return VKF_ERROR_CANCELLED;
        VKF_RETURN_IF_ERROR(run_part(a, past, len - past < part ? len - past : part));
    }
    return VKF_OK;
}

// Makes the cache ready and writes the tokens.
static vkf_status begin_prompt(appended *a)
{
    VKF_RETURN_IF_ERROR(gather(a));
    VKF_RETURN_IF_ERROR(vkf__rows_align(a->session, &a->prompt, a->keep, &a->first));
    return vkf__prompt_write(a->session, &a->prompt, 1);
}

static void free_appended(appended *a)
{
    vkf__prompt_free(a->session, &a->prompt);
    vkf__free(&a->session->context->host, a->keep);
}

vkf_status vkf__session_prefill(vkf_session *session, const vkf_prefill_args *args)
{
    vkf_status status = VKF_OK;
    appended a = {.session = session, .args = args};
    VKF_TRY(begin_prompt(&a));
    VKF_TRY(run_parts(&a, a.prompt.len));
    vkf__rows_keep(session, &a.prompt);
fail:
    free_appended(&a);
    return status;
}

vkf_status vkf__session_launch_step(vkf_session *session, const vkf_prefill_args *args,
                                    const vkf__submit_semaphores *semaphores)
{
    vkf_status status = VKF_OK;
    appended a = {.session = session, .args = args};
    VKF_TRY(begin_prompt(&a));
    const vkf__session_sizes sizes = {
        .batch = args->batch, .target_len = 1, .target_past = a.prompt.len - 1, .logit_rows = 1};
    VKF_TRY(run_parts(&a, a.prompt.len - 1));
    VKF_TRY(vkf__session_launch(session, VKF_STAGES_STEP, &sizes, semaphores));
    vkf__rows_keep(session, &a.prompt);
fail:
    free_appended(&a);
    return status;
}

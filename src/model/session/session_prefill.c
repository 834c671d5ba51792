// Runs a caller's tokens: whole sequences, or what follows the tokens that the cache's rows hold.
#include "model/session/session_prefill.h"
#include "model/session/cached_rows.h"
#include "model/session/prompt.h"
#include "model/session/row_alignment.h"
#include "model/session/session_flight.h"

#include <string.h>

// ---- whole sequences

static vkf_status read_logits(vkf_session *session, const vkf__session_sizes *sizes, uint32_t len, float *out_logits)
{
    const vkf__span *logits = &session->spans.logits;
    size_t vocab = session->model->config.target_vocab;
    uint64_t row_bytes = sizes->target_len * vocab * sizeof(float);
    for (uint32_t row = 0; row < sizes->batch; row++)
        VKF_RETURN_IF_ERROR(vkf_buffer_read(logits->buffer, logits->offset_bytes + row * row_bytes,
                                            out_logits + ((size_t)row * len + sizes->target_past) * vocab, row_bytes));
    return VKF_OK;
}

vkf_status vkf__session_decode_tokens(vkf_session *session, const vkf_decode_args *args)
{
    vkf_status status = VKF_OK;
    const vkf_session_desc *desc = &session->desc;
    uint32_t part = desc->max_prompt_len, len = args->target_len, first = 0;
    vkf__prompt p = {0};
    if (args->out_logits && desc->max_logit_rows < part)
        part = desc->max_logit_rows;
    VKF_TRY(vkf__prompt_make(session, args->batch, len, &p));
    for (uint32_t row = 0; row < args->batch; row++) {
        uint32_t padding = args->target_starts ? args->target_starts[row] : 0;
        vkf__prompt_set(session, &p, row, args->target_ids + (size_t)row * len + padding, len - padding);
    }
    VKF_TRY(vkf__rows_align(session, &p, NULL, &first));
    VKF_TRY(vkf__prompt_write(session, &p, 1));
    for (uint32_t past = first; past < len; past += part) {
        uint32_t positions = len - past < part ? len - past : part;
        const vkf__session_sizes sizes = {
            .batch = args->batch,
            .target_len = positions,
            .target_past = past,
            .logit_rows = args->out_logits ? positions : 0,
        };
        VKF_TRY(vkf__session_run(session, VKF_STAGES_DECODE, &sizes));
        if (args->out_logits)
            VKF_TRY(read_logits(session, &sizes, len, args->out_logits));
    }
    vkf__rows_keep(session, &p);
fail:
    vkf__prompt_free(session, &p);
    return status;
}

// ---- tokens behind those that the rows hold

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

// The place from which on the last part runs, or with `steps` the last position.
static uint32_t last_begin(const appended *a, bool steps)
{
    const uint32_t part = part_of(a), behind = a->prompt.len - a->first - 1;
    return steps ? a->prompt.len - 1 : a->first + behind / part * part;
}

vkf_status vkf__session_launch_tokens(vkf_session *session, const vkf_prefill_args *args, bool steps,
                                      const vkf__submit_semaphores *semaphores)
{
    vkf_status status = VKF_OK;
    appended a = {.session = session, .args = args};
    VKF_TRY(begin_prompt(&a));
    const uint32_t begin = last_begin(&a, steps);
    const vkf__session_sizes sizes = {
        .batch = args->batch, .target_len = a.prompt.len - begin, .target_past = begin, .logit_rows = 1};
    VKF_TRY(run_parts(&a, begin));
    VKF_TRY(vkf__session_launch(session, steps ? VKF_STAGES_STEP : group_of(&a), &sizes, semaphores));
    vkf__rows_keep(session, &a.prompt);
fail:
    free_appended(&a);
    return status;
}

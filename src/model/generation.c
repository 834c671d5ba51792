// Runs of a DECODER: the prompt in parts, and then token by token what follows.
#include <string.h>

#include "base/clock.h"
#include "model/rotary.h"
#include "model/session_run.h"

// Sequences of unequal lengths as the rows of a batch: their padding stands in front, so that all end together.
typedef struct prompt {
    uint32_t batch, len;
    int32_t *ids;    // (batch, 1 + len): each row led by its number of padding tokens
    uint8_t *hidden; // (batch, max_target_len): keys that no position sees
} prompt;

static void prompt_free(const vkf__host *host, prompt *p)
{
    vkf__free(host, p->ids);
    vkf__free(host, p->hidden);
}

static vkf_status prompt_make(const vkf_session *session, uint32_t batch, uint32_t len, prompt *out)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    prompt p = {.batch = batch, .len = len};
    VKF_ALLOC(host, p.ids, (size_t)batch * (1 + len));
    VKF_ALLOC(host, p.hidden, (size_t)batch * session->desc.max_target_len);
    *out = p;
    return VKF_OK;
fail:
    prompt_free(host, &p);
    return status;
}

static void set_row(const vkf_session *session, const prompt *p, uint32_t row, uint32_t padding, const int32_t *tokens)
{
    int32_t *ids = p->ids + (size_t)row * (1 + p->len);
    ids[0] = (int32_t)padding;
    for (uint32_t t = 0; t < padding; t++)
        ids[1 + t] = session->model->config.pad_id;
    memcpy(ids + 1 + padding, tokens, (p->len - padding) * sizeof *ids);
    memset(p->hidden + (size_t)row * session->desc.max_target_len, 1, padding);
}

// With dynamic scaling the length of a prompt decides how its positions are turned.
static vkf_status write_rotations(vkf_session *session, uint32_t len)
{
    vkf_status status = VKF_OK;
    const vkf_rotary *rotary = &session->model->config.rotary;
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

static vkf_status write_prompt(vkf_session *session, const prompt *p)
{
    vkf_status status = VKF_OK;
    const vkf__span *ids = &session->spans.target_ids, *mask = &session->spans.target_key_mask;
    for (uint32_t row = 0; row < p->batch; row++) {
        uint64_t at = ids->offset_bytes + (uint64_t)row * vkf__ids_row(session) * sizeof(int32_t);
        VKF_TRY(vkf_buffer_write(ids->buffer, at, p->ids + (size_t)row * (1 + p->len),
                                 (1 + (uint64_t)p->len) * sizeof(int32_t)));
    }
    if (vkf__present(mask))
        VKF_TRY(vkf_buffer_write(mask->buffer, mask->offset_bytes, p->hidden,
                                 (uint64_t)p->batch * session->desc.max_target_len));
    VKF_TRY(write_rotations(session, p->len));
fail:
    return status;
}

// ---- whole sequences

static vkf_status read_logits(vkf_session *session, const vkf__session_sizes *sizes, uint32_t len, float *out_logits)
{
    vkf_status status = VKF_OK;
    const vkf__span *logits = &session->spans.logits;
    size_t vocab = session->model->config.target_vocab;
    uint64_t row_bytes = sizes->target_len * vocab * sizeof(float);
    for (uint32_t row = 0; row < sizes->batch; row++)
        VKF_TRY(vkf_buffer_read(logits->buffer, logits->offset_bytes + row * row_bytes,
                                out_logits + ((size_t)row * len + sizes->target_past) * vocab, row_bytes));
fail:
    return status;
}

vkf_status vkf__session_decode_tokens(vkf_session *session, const vkf_decode_args *args)
{
    vkf_status status = VKF_OK;
    const vkf_session_desc *desc = &session->desc;
    uint32_t part = desc->max_prompt_len, len = args->target_len;
    prompt p = {0};
    if (args->out_logits && desc->max_logit_rows < part)
        part = desc->max_logit_rows;
    VKF_TRY(prompt_make(session, args->batch, len, &p));
    for (uint32_t row = 0; row < args->batch; row++) {
        uint32_t padding = args->target_starts ? args->target_starts[row] : 0;
        set_row(session, &p, row, padding, args->target_ids + (size_t)row * len + padding);
    }
    VKF_TRY(write_prompt(session, &p));
    for (uint32_t past = 0; past < len; past += part) {
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
fail:
    prompt_free(&session->context->host, &p);
    return status;
}

// ---- generation

// What was generated so far; the caller's arrays are written only when all of it is there.
typedef struct generated {
    int32_t *ids; // (batch, max_new)
    uint32_t *lengths;
    vkf_stop_reason *reasons;
    bool *ended;
    uint32_t max_new, live;
} generated;

static void generated_free(const vkf__host *host, generated *g)
{
    vkf__free(host, g->ids);
    vkf__free(host, g->lengths);
    vkf__free(host, g->reasons);
    vkf__free(host, g->ended);
}

static vkf_status generated_make(const vkf_session *session, uint32_t batch, uint32_t max_new, generated *out)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    generated g = {.max_new = max_new, .live = batch};
    size_t count = (size_t)batch * max_new;
    VKF_ALLOC(host, g.ids, count);
    VKF_ALLOC(host, g.lengths, batch);
    VKF_ALLOC(host, g.reasons, batch);
    VKF_ALLOC(host, g.ended, batch);
    for (size_t i = 0; i < count; i++)
        g.ids[i] = session->model->config.pad_id;
    *out = g;
    return VKF_OK;
fail:
    generated_free(host, &g);
    return status;
}

static bool contains(const int32_t *ids, uint32_t count, int32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static void take_token(const vkf_session *session, const vkf_generate_args *args, generated *g, uint32_t row,
                       int32_t token)
{
    const vkf_model_config *config = &session->model->config;
    g->ids[(size_t)row * g->max_new + g->lengths[row]++] = token;
    bool eos = contains(config->eos_ids, config->eos_count, token) || contains(args->stop_ids, args->stop_count, token);
    bool caller = args->on_token && !args->on_token(args->on_token_user, row, token);
    g->ended[row] = eos || caller;
    if (eos || caller)
        g->reasons[row] = eos ? VKF_STOP_EOS : VKF_STOP_CALLER;
}

// The tokens that the last run chose, for the rows that still go on.
static vkf_status take_tokens(vkf_session *session, const vkf_generate_args *args, generated *g)
{
    vkf_status status = VKF_OK;
    const vkf__span *ids = &session->spans.target_ids;
    uint64_t place = vkf__ids_lead(session) + session->sizes.target_past + session->sizes.target_len;
    g->live = 0;
    for (uint32_t row = 0; row < args->batch; row++) {
        int32_t token = 0;
        if (g->ended[row])
            continue;
        VKF_TRY(vkf_buffer_read(ids->buffer,
                                ids->offset_bytes + ((uint64_t)row * vkf__ids_row(session) + place) * sizeof token,
                                &token, sizeof token));
        take_token(session, args, g, row, token);
        g->live += !g->ended[row];
    }
fail:
    return status;
}

// The prompts' tokens count as seen.
static vkf_status write_seen(vkf_session *session, const vkf_generate_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__span *span = &session->spans.seen;
    size_t words = (session->model->config.target_vocab + 31u) / 32u;
    const int32_t *id = args->prompt_ids;
    uint32_t *seen = NULL;
    VKF_ALLOC(&session->context->host, seen, args->batch * words);
    for (uint32_t row = 0; row < args->batch; row++)
        for (uint32_t t = 0; t < args->prompt_lengths[row]; t++, id++)
            seen[row * words + (uint32_t)*id / 32] |= 1u << (uint32_t)*id % 32;
    VKF_TRY(vkf_buffer_write(span->buffer, span->offset_bytes, seen, args->batch * words * sizeof *seen));
fail:
    vkf__free(&session->context->host, seen);
    return status;
}

// Zeros mean that a step of sampling is off.
static vkf_sampling complete_sampling(vkf_sampling sampling)
{
    if (sampling.top_p == 0.0f)
        sampling.top_p = 1.0f;
    if (sampling.repetition_penalty == 0.0f)
        sampling.repetition_penalty = 1.0f;
    return sampling;
}

static vkf_status run_prompt(vkf_session *session, const vkf_generate_args *args, const prompt *p)
{
    vkf_status status = VKF_OK;
    uint32_t part = session->desc.max_prompt_len;
    VKF_TRY(write_prompt(session, p));
    for (uint32_t past = 0; past < p->len; past += part) {
        bool last = p->len - past <= part;
        const vkf__session_sizes sizes = {
            .batch = args->batch,
            .target_len = last ? p->len - past : part,
            .target_past = past,
            .logit_rows = last ? 1 : 0,
            .choose = last,
        };
        if (args->progress && !args->progress(args->progress_user, past, p->len, "positions"))
            return VKF_ERROR_CANCELLED;
        VKF_TRY(vkf__session_run(session, VKF_STAGES_DECODE, &sizes));
    }
fail:
    return status;
}

static vkf_status run_steps(vkf_session *session, const vkf_generate_args *args, uint32_t prompt_len, generated *g)
{
    vkf_status status = VKF_OK;
    VKF_TRY(take_tokens(session, args, g));
    for (uint32_t made = 1; made < g->max_new && g->live > 0; made++) {
        const vkf__session_sizes sizes = {
            .batch = args->batch,
            .target_len = 1,
            .target_past = prompt_len + made - 1,
            .logit_rows = 1,
            .choose = true,
        };
        VKF_TRY(vkf__session_run(session, VKF_STAGES_STEP, &sizes));
        VKF_TRY(take_tokens(session, args, g));
    }
fail:
    return status;
}

// Places for prompt and continuation are known before anything runs.
static vkf_status check_room(const vkf_session *session, const vkf_generate_args *args, uint32_t longest)
{
    uint32_t context = session->desc.max_target_len, new_tokens = args->max_new_tokens > 0 ? args->max_new_tokens : 1;
    if (longest < context && new_tokens <= context - longest)
        return VKF_OK;
    return vkf__fail(&session->context->host, VKF_ERROR_TOO_LARGE,
                     "the context is full: a prompt of %u tokens and %u new ones, there is room for %u", longest,
                     new_tokens, context);
}

static vkf_status make_prompt(const vkf_session *session, const vkf_generate_args *args, prompt *out)
{
    vkf_status status = VKF_OK;
    uint32_t longest = 0;
    const int32_t *tokens = args->prompt_ids;
    for (uint32_t row = 0; row < args->batch; row++)
        longest = args->prompt_lengths[row] > longest ? args->prompt_lengths[row] : longest;
    VKF_TRY(check_room(session, args, longest));
    VKF_TRY(prompt_make(session, args->batch, longest, out));
    for (uint32_t row = 0; row < args->batch; row++) {
        set_row(session, out, row, longest - args->prompt_lengths[row], tokens);
        tokens += args->prompt_lengths[row];
    }
fail:
    return status;
}

static vkf_generation_cost cost_of(const vkf_generate_args *args, const generated *g, double prompt_ns, double new_ns)
{
    vkf_generation_cost cost = {.prompt_ns = prompt_ns, .new_ns = new_ns};
    for (uint32_t row = 0; row < args->batch; row++) {
        cost.prompt_tokens += args->prompt_lengths[row];
        cost.new_tokens += g->lengths[row] - 1;
    }
    return cost;
}

static void give(const vkf_generate_args *args, const generated *g, bool context_full)
{
    memcpy(args->out_ids, g->ids, (size_t)args->batch * g->max_new * sizeof g->ids[0]);
    memcpy(args->out_lengths, g->lengths, args->batch * sizeof g->lengths[0]);
    for (uint32_t row = 0; args->out_reasons && row < args->batch; row++)
        args->out_reasons[row] = !g->ended[row] && context_full ? VKF_STOP_CONTEXT : g->reasons[row];
}

vkf_status vkf__session_generate(vkf_session *session, const vkf_generate_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    prompt p = {0};
    generated g = {0};
    VKF_TRY(make_prompt(session, args, &p));
    uint32_t room = session->desc.max_target_len - p.len;
    VKF_TRY(generated_make(session, args->batch, args->max_new_tokens > 0 ? args->max_new_tokens : room, &g));
    session->sampling = complete_sampling(args->sampling);
    VKF_TRY(write_seen(session, args));
    double began_ns = vkf__now_ns();
    VKF_TRY(run_prompt(session, args, &p));
    double prompt_ns = vkf__now_ns() - began_ns;
    VKF_TRY(run_steps(session, args, p.len, &g));
    give(args, &g, args->max_new_tokens == 0);
    if (args->out_cost)
        *args->out_cost = cost_of(args, &g, prompt_ns, vkf__now_ns() - began_ns - prompt_ns);
fail:
    prompt_free(host, &p);
    generated_free(host, &g);
    return status;
}

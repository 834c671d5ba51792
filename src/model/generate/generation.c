// Generation: runs the prompt, then one step for each new token.
#include "model/generate/generation.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "model/generate/beam_generation.h"
#include "model/generate/generation_choice.h"
#include "model/generate/new_tokens.h"
#include "model/load/finite.h"
#include "model/session/cached_rows.h"
#include "model/session/row_alignment.h"
#include "model/session/session_flight.h"
#include "model/session/session_part.h"
#include "model/session/session_results.h"

// Rows move for the sake of a quarter of the prompt.
#define LEAST_SHARE 4

void vkf__generation_end(vkf__generation *g)
{
    const vkf__host *host = &g->session->context->host;
    vkf__session_drop_step(g->session);
    const vkf_status settled = vkf__session_settle(g->session);
    (void)settled; // of a run that nobody waits for any more
    vkf__prompt_free(g->session, &g->prompt);
    vkf__free(host, g->ids);
    vkf__free(host, g->lengths);
    vkf__free(host, g->reasons);
    vkf__free(host, g->logits);
    vkf__free(host, g->ended);
}

static void take_token(vkf__generation *g, uint32_t row, int32_t token, bool *ended)
{
    const vkf_generate_args *args = g->args;
    int32_t *ids = g->ids + (size_t)row * g->max_new;
    ids[g->lengths[row]++] = token;
    bool eos = vkf__generation_ends(g, token) || vkf__generation_caller_ends(g, row, ids, g->lengths[row]);
    bool caller = args->on_token && !args->on_token(args->on_token_user, row, token);
    ended[row] = eos || caller;
    if (eos || caller)
        g->reasons[row] = eos ? VKF_STOP_EOS : VKF_STOP_CALLER;
}

// A token that the model forces replaces the one that was chosen.
static vkf_status force_token(vkf__generation *g, uint32_t row, uint32_t made, int32_t *inout_token)
{
    if (!vkf__generation_forces(g, made, inout_token))
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__generation_write_token(g, row, made, *inout_token));
    if (made == 0)
        VKF_RETURN_IF_ERROR(vkf__generation_write_seen(g, row, row, inout_token, 1));
    return VKF_OK;
}

// What the last part of a model has chosen stands in the ids of all parts then. The last one shares it when its run has
// ended, so that the first can go on with this batch while it has others; they take it with their next turn.
static vkf_status share_tokens(const vkf__generation *g, uint32_t made, bool behind_run)
{
    vkf_status status = VKF_OK;
    const vkf__layer_part *part = &g->session->model->part;
    const vkf__span *ids = &g->session->spans.target_ids;
    const bool chooses = vkf__part_chooses(part);
    int32_t *chosen = NULL;
    if (part->count == 0 || chooses != behind_run)
        return VKF_OK;
    VKF_ALLOC(&g->session->context->host, chosen, g->args->batch);
    for (uint32_t row = 0; chooses && row < g->args->batch; row++)
        VKF_TRY(vkf_buffer_read(ids->buffer, ids->offset_bytes + vkf__generation_place(g, row, made) * sizeof *chosen,
                                &chosen[row], sizeof *chosen));
    VKF_TRY(vkf__part_share(g->session, chosen, g->args->batch * sizeof *chosen));
    for (uint32_t row = 0; !chooses && row < g->args->batch; row++)
        VKF_TRY(vkf__generation_write_token(g, row, made, chosen[row]));
fail:
    vkf__free(&g->session->context->host, chosen);
    return status;
}

// Takes the tokens that the last run chose, for the rows that still go on.
static vkf_status take_tokens(vkf__generation *g, uint32_t made, bool *ended, uint32_t *out_live)
{
    *out_live = 0;
    VKF_RETURN_IF_ERROR(share_tokens(g, made, false));
    if (g->args->choose)
        VKF_RETURN_IF_ERROR(vkf__generation_choose(g, made, ended));
    for (uint32_t row = 0; row < g->args->batch; row++) {
        int32_t token = 0;
        if (ended[row])
            continue;
        VKF_RETURN_IF_ERROR(vkf__read_chosen(g->session, vkf__generation_place(g, row, made), row,
                                             g->args->prompt_lengths[row] + made, &token));
        VKF_RETURN_IF_ERROR(force_token(g, row, made, &token));
        take_token(g, row, token, ended);
        *out_live += !ended[row];
    }
    return VKF_OK;
}

// Runs the step that reads new token number `made` - 1. The one behind it may follow at once where the device wrote the
// token that it reads. (A token that the model forces is the first, which comes with the prompt, or the last.)
static vkf_status step(const vkf__generation *g, uint32_t made)
{
    const vkf__session_sizes sizes = vkf__generation_step(g, made), next = vkf__generation_step(g, made + 1);
    if (g->submits)
        return vkf__session_launch(g->session, VKF_STAGES_STEP, &sizes, &(vkf__submit_semaphores){0});
    VKF_RETURN_IF_ERROR(
        vkf__session_step(g->session, &sizes, made + 1 < g->max_new && !g->args->choose ? &next : NULL));
    return share_tokens(g, made, true);
}

// Rotations that depend on the length of the text would differ from those of the keys that are kept.
static bool reuses(const vkf__generation *g)
{
    const vkf_model_config *config = &g->session->model->config;
    return g->args->reuse_cache && g->session->rows && g->session->desc.attention_weights == 0 &&
           config->rotary.dynamic_from == 0 && config->window_rotary.dynamic_from == 0;
}

// Moving rows within the cache costs some submissions for each layer.
static bool pays(const vkf__generation *g, const uint32_t *keep)
{
    bool moves = false;
    for (uint32_t row = 0; row < g->args->batch; row++)
        moves = moves || g->session->rows[row].begin != vkf__prompt_padding(g->session, &g->prompt, row);
    return !moves || vkf__rows_first(g->session, &g->prompt, keep) >= g->prompt.len / LEAST_SHARE;
}

// Keeps of each row what its prompt begins with. The last token of a prompt always runs, for its logits.
static vkf_status align_cache(vkf__generation *g)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &g->session->context->host;
    const int32_t *tokens = g->args->prompt_ids;
    const bool reusing = reuses(g);
    uint32_t *keep = NULL;
    VKF_ALLOC(host, keep, g->args->batch);
    for (uint32_t row = 0; reusing && row < g->args->batch; row++) {
        keep[row] = vkf__row_common(g->session, row, tokens, g->args->prompt_lengths[row] - 1);
        tokens += g->args->prompt_lengths[row];
    }
    VKF_TRY(vkf__rows_align(g->session, &g->prompt, reusing && pays(g, keep) ? keep : NULL, &g->first));
fail:
    vkf__free(host, keep);
    return status;
}

// The last token of a row was chosen, but has not run.
static void remember(const vkf__generation *g)
{
    vkf__rows_keep(g->session, &g->prompt);
    for (uint32_t row = 0; row < g->args->batch; row++)
        if (g->lengths[row] > 0)
            vkf__row_add(g->session, row, g->ids + (size_t)row * g->max_new, g->lengths[row] - 1);
}

static vkf_status run_prompts(vkf__generation *g)
{
    VKF_ALLOC_OR_RETURN(&g->session->context->host, g->ended, g->args->batch);
    for (uint32_t row = 0; row < g->args->batch; row++)
        VKF_RETURN_IF_ERROR(vkf__generation_write_seen(g, row, row, NULL, 0));
    VKF_RETURN_IF_ERROR(align_cache(g));
    VKF_RETURN_IF_ERROR(vkf__prompt_run(g->session, g->args, &g->prompt, g->first, 0, g->submits));
    if (g->submits)
        return VKF_OK;
    g->prompted_ns = vkf__now_ns();
    return share_tokens(g, 0, true);
}

vkf_status vkf__generation_turn(vkf__generation *g, bool *out_more)
{
    uint32_t live = 0;
    if (g->args->beams.num_beams > 1) {
        *out_more = false;
        return vkf__generate_by_beams(g);
    }
    VKF_RETURN_IF_ERROR(vkf__session_settle(g->session));
    if (g->submits && g->made == 0)
        g->prompted_ns = vkf__now_ns();
    VKF_RETURN_IF_ERROR(take_tokens(g, g->made, g->ended, &live));
    g->made++;
    *out_more = g->made < g->max_new && live > 0;
    if (*out_more)
        return step(g, g->made);
    remember(g);
    return VKF_OK;
}

// ---- the whole run

static vkf_status check_sampling(const vkf_session *session, const vkf_sampling *s)
{
    if (s->temperature >= 0.0f && s->temperature < INFINITY && s->top_p >= 0.0f && s->top_p <= 1.0f &&
        s->min_p >= 0.0f && s->min_p <= 1.0f && s->repetition_penalty >= 0.0f && s->repetition_penalty < INFINITY)
        return VKF_OK;
    return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                     "sampling: temperature or repetition_penalty is below 0, or top_p or min_p not between 0 and 1");
}

static vkf_status check_choice(const vkf_session *session, const vkf_generate_args *args)
{
    const vkf__host *host = &session->context->host;
    const vkf_sampling *s = &args->sampling;
    if (!args->choose)
        return VKF_OK;
    if (session->model->part.count > 0)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "a part of a model has no logits to choose from");
    if (args->beams.num_beams > 1)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "beam search does not let the caller choose: give no `choose`");
    if (s->temperature != 0.0f || s->top_k > 0 || s->top_p != 0.0f || s->min_p != 0.0f || s->repetition_penalty != 0.0f)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "`choose` chooses the tokens: leave all fields of `sampling` zero");
    return VKF_OK;
}

// What the host does behind every run cannot be put off.
static vkf_status check_submits(const vkf__generation *g)
{
    const vkf_session *session = g->session;
    if (!g->submits ||
        (g->args->beams.num_beams < 2 && session->desc.attention_weights == 0 && session->model->part.count == 0))
        return VKF_OK;
    return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                     "beams, attention_weights and a part of a model want the host between runs: begin the generation "
                     "with vkf_generation_begin()");
}

static vkf_status check_beams(const vkf_session *session, const vkf_generate_args *args)
{
    const vkf__host *host = &session->context->host;
    const vkf_beam_search *beams = &args->beams;
    if (beams->num_beams < 2)
        return VKF_OK;
    if (beams->num_beams > session->desc.max_beams)
        return vkf__fail(vkf__limited(host, "max_beams", beams->num_beams, session->desc.max_beams),
                         VKF_ERROR_TOO_LARGE, "%u beams beyond the session's %u", beams->num_beams,
                         session->desc.max_beams);
    if (!isfinite(beams->length_penalty) || beams->early_stopping >= VKF_EARLY_STOPPING_COUNT)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "beam search: length_penalty is not finite, or early_stopping unknown");
    if (session->model->config.eos_count + args->stop_count > VKF_MAX_EOS)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "beam search: more than %u tokens that end a sequence",
                         VKF_MAX_EOS);
    if (args->sampling.temperature > 0.0f)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED, "beam search draws no tokens: temperature must be 0");
    return VKF_OK;
}

// A zero turns a step of sampling off; here it becomes the value that has no effect.
static vkf_sampling complete_sampling(vkf_sampling sampling)
{
    if (sampling.top_p == 0.0f)
        sampling.top_p = 1.0f;
    if (sampling.repetition_penalty == 0.0f)
        sampling.repetition_penalty = 1.0f;
    return sampling;
}

// What helps where the model itself has the positions for so many tokens.
static const char *more_room(const vkf_session *session, uint64_t tokens)
{
    const vkf_model_config *config = &session->model->config;
    bool source = vkf__facts_of(config)->encodes;
    if (tokens > config->max_target_len || (source && tokens > config->max_source_len))
        return "";
    return "; the model has positions for more: ask for a larger context (--context, max_context)";
}

vkf_status vkf__session_check_room(const vkf_session *session, uint32_t longest, uint32_t new_tokens)
{
    const vkf__host *host = &session->context->host;
    const vkf_session_desc *desc = &session->desc;
    uint32_t context = desc->max_target_len, needed = new_tokens > 0 ? new_tokens : 1;
    bool source = vkf__facts_of(&session->model->config)->encodes;
    if (source && longest <= desc->max_source_len && needed < context)
        return VKF_OK;
    if (source)
        return vkf__fail(longest > desc->max_source_len
                             ? vkf__limited(host, "max_source_len", longest, desc->max_source_len)
                             : vkf__limited(host, "max_target_len", needed + (uint64_t)1, context),
                         VKF_ERROR_TOO_LARGE,
                         "the context is full: a text of %u tokens and %u new ones, there is room for %u and %u%s",
                         longest, needed, desc->max_source_len, context - 1,
                         more_room(session, longest > needed + (uint64_t)1 ? longest : needed + (uint64_t)1));
    if (longest < context && needed <= context - longest)
        return VKF_OK;
    return vkf__fail(vkf__limited(host, "max_target_len", longest + (uint64_t)needed, context), VKF_ERROR_TOO_LARGE,
                     "the context is full: a prompt of %u tokens and %u new ones, there is room for %u%s", longest,
                     needed, context, more_room(session, longest + (uint64_t)needed));
}

uint32_t vkf__session_room(const vkf_session *session, uint32_t longest)
{
    return session->desc.max_target_len - (vkf__facts_of(&session->model->config)->encodes ? 1 : longest);
}

static vkf_status make_prompt(vkf__generation *g)
{
    const vkf_generate_args *args = g->args;
    uint32_t longest = 0;
    const int32_t *tokens = args->prompt_ids;
    for (uint32_t row = 0; row < args->batch; row++)
        longest = args->prompt_lengths[row] > longest ? args->prompt_lengths[row] : longest;
    VKF_RETURN_IF_ERROR(vkf__session_check_room(g->session, longest, args->max_new_tokens));
    VKF_RETURN_IF_ERROR(vkf__prompt_make(g->session, args->batch, longest, &g->prompt));
    for (uint32_t row = 0; row < args->batch; row++) {
        vkf__prompt_set(g->session, &g->prompt, row, tokens, args->prompt_lengths[row]);
        tokens += args->prompt_lengths[row];
    }
    g->max_new = args->max_new_tokens > 0 ? args->max_new_tokens : vkf__session_room(g->session, longest);
    return VKF_OK;
}

// The padding of finished rows, as transformers chooses it.
static int32_t padding_of(const vkf_model_config *config)
{
    int32_t padding = config->pad_id >= 0 ? config->pad_id : config->eos_id;
    return padding >= 0 ? padding : 0;
}

static vkf_status make_generated(vkf__generation *g)
{
    const vkf__host *host = &g->session->context->host;
    size_t count = (size_t)g->args->batch * g->max_new;
    VKF_ALLOC_OR_RETURN(host, g->ids, count);
    VKF_ALLOC_OR_RETURN(host, g->lengths, g->args->batch);
    VKF_ALLOC_OR_RETURN(host, g->reasons, g->args->batch);
    if (g->args->choose)
        VKF_ALLOC_OR_RETURN(host, g->logits, g->session->model->config.target_vocab);
    for (size_t i = 0; i < count; i++)
        g->ids[i] = padding_of(&g->session->model->config);
    for (uint32_t row = 0; row < g->args->batch; row++)
        g->reasons[row] = g->args->max_new_tokens > 0 ? VKF_STOP_LENGTH : VKF_STOP_CONTEXT;
    return VKF_OK;
}

static vkf_generation_cost cost_of(const vkf__generation *g)
{
    vkf_generation_cost cost = {
        .prompt_ns = g->prompted_ns - g->began_ns,
        .new_ns = vkf__now_ns() - g->prompted_ns,
    };
    for (uint32_t row = 0; row < g->args->batch; row++) {
        const uint32_t padding = vkf__prompt_padding(g->session, &g->prompt, row);
        cost.prompt_tokens += g->args->prompt_lengths[row];
        cost.reused_tokens += g->first > padding ? g->first - padding : 0;
        cost.new_tokens += g->lengths[row] > 0 ? g->lengths[row] - 1 : 0;
    }
    return cost;
}

void vkf__generation_give(const vkf__generation *g)
{
    const vkf_generate_args *args = g->args;
    memcpy(args->out_ids, g->ids, (size_t)args->batch * g->max_new * sizeof g->ids[0]);
    memcpy(args->out_lengths, g->lengths, args->batch * sizeof g->lengths[0]);
    if (args->out_reasons)
        memcpy(args->out_reasons, g->reasons, args->batch * sizeof g->reasons[0]);
    if (args->out_cost)
        *args->out_cost = cost_of(g);
}

vkf_status vkf__generation_begin(vkf__generation *g)
{
    vkf_session *session = g->session;
    const vkf_generate_args *args = g->args;
    VKF_RETURN_IF_ERROR(check_sampling(session, &args->sampling));
    VKF_RETURN_IF_ERROR(check_choice(session, args));
    VKF_RETURN_IF_ERROR(check_beams(session, args));
    VKF_RETURN_IF_ERROR(check_submits(g));
    VKF_RETURN_IF_ERROR(make_prompt(g));
    VKF_RETURN_IF_ERROR(make_generated(g));
    session->sampling = complete_sampling(args->sampling);
    g->began_ns = vkf__now_ns();
    return args->beams.num_beams > 1 ? VKF_OK : run_prompts(g);
}

vkf_status vkf__session_generate(vkf_session *session, const vkf_generate_args *args)
{
    vkf_status status = VKF_OK;
    vkf__generation g = {.session = session, .args = args};
    bool more = true;
    VKF_TRY(vkf__generation_begin(&g));
    while (more)
        VKF_TRY(vkf__generation_turn(&g, &more));
    vkf__generation_give(&g);
fail:
    vkf__generation_end(&g);
    return status;
}

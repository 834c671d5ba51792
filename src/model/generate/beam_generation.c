// Generation by beam search. The device finds the most probable tokens of every row, and the host decides which
// sequences go on. The next step then moves the rows of the caches accordingly.
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "model/generate/beam_generation.h"
#include "model/generate/beam_search.h"
#include "model/generate/new_tokens.h"
#include "model/load/finite.h"
#include "model/session/cached_rows.h"
#include "model/session/prompt.h"
#include "model/session/session_flight.h"
#include "model/session/session_part.h"
#include "model/session/session_results.h"
#include "op/reorder.h"

typedef struct beam_run {
    vkf__generation *g;
    vkf__beam_search *searches; // (batch)
    uint32_t batch, beams, rows;
    uint32_t candidates;       // of each row
    float *pairs;              // (rows, candidates, 2), as read from the device
    vkf__beam_candidate *tops; // (beams, candidates)
    uint32_t *counts;          // (beams)
    uint32_t *sources;         // (rows): the row that each goes on from
    uint32_t *readers;         // (rows), scratch
    int32_t *moves;            // (rows * 3 / 2, 2)
    int32_t *sequence;         // (max_new), scratch
    uint32_t common;           // how many new tokens, from the first on, all beams of a sequence share
    uint32_t made;             // new tokens of every sequence
} beam_run;

static void run_free(beam_run *run)
{
    const vkf__host *host = &run->g->session->context->host;
    for (uint32_t i = 0; run->searches && i < run->batch; i++)
        vkf__beam_search_free(host, &run->searches[i]);
    vkf__free(host, run->searches);
    vkf__free(host, run->pairs);
    vkf__free(host, run->tops);
    vkf__free(host, run->counts);
    vkf__free(host, run->sources);
    vkf__free(host, run->readers);
    vkf__free(host, run->moves);
    vkf__free(host, run->sequence);
}

static vkf_status run_make(vkf__generation *g, beam_run *run)
{
    const vkf__host *host = &g->session->context->host;
    const vkf_model_config *config = &g->session->model->config;
    uint32_t ends = config->eos_count + g->args->stop_count;
    *run = (beam_run){.g = g, .batch = g->args->batch, .beams = g->args->beams.num_beams};
    run->rows = run->batch * run->beams;
    VKF_ALLOC_OR_RETURN(host, run->searches, run->batch);
    for (uint32_t i = 0; i < run->batch; i++)
        VKF_RETURN_IF_ERROR(vkf__beam_search_make(host, &g->args->beams, g->max_new, ends, &run->searches[i]));
    run->candidates = run->searches[0].candidate_count + config->banned_count;
    if (run->candidates > config->target_vocab)
        run->candidates = config->target_vocab;
    VKF_ALLOC_OR_RETURN(host, run->pairs, (size_t)run->rows * run->candidates * 2);
    VKF_ALLOC_OR_RETURN(host, run->tops, (size_t)run->beams * run->candidates);
    VKF_ALLOC_OR_RETURN(host, run->counts, run->beams);
    VKF_ALLOC_OR_RETURN(host, run->sources, run->rows);
    VKF_ALLOC_OR_RETURN(host, run->readers, run->rows);
    VKF_ALLOC_OR_RETURN(host, run->moves, 2 * ((size_t)run->rows + run->rows / 2));
    VKF_ALLOC_OR_RETURN(host, run->sequence, g->max_new);
    return VKF_OK;
}

static bool is_banned(const beam_run *run, int32_t token)
{
    const vkf_model_config *config = &run->g->session->model->config;
    for (uint32_t i = 0; i < config->banned_count; i++)
        if (config->banned_ids[i] == token)
            return true;
    return false;
}

// The device writes ids as floats, next to their scores.
static vkf_status read_token(const beam_run *run, float id, int32_t *out_token)
{
    bool is_id = id >= 0.0f && id < (float)run->g->session->model->config.target_vocab;
    *out_token = is_id ? (int32_t)id : -1;
    return vkf__session_check_chosen(run->g->session, *out_token);
}

// Takes what row `row` of the last run found, as the candidates of beam `beam`. A row whose candidates are all banned
// keeps its last one at -infinity, because every beam needs a candidate.
static vkf_status take_tops(beam_run *run, uint32_t row, uint32_t beam)
{
    vkf__beam_candidate *out = run->tops + (size_t)beam * run->candidates;
    const float *pairs = run->pairs + (size_t)row * run->candidates * 2;
    uint32_t count = 0;
    int32_t forced = 0;
    if (vkf__generation_forces(run->g, run->made, &forced)) {
        out[0] = (vkf__beam_candidate){.token = forced, .ends = vkf__generation_ends(run->g, forced)};
        run->counts[beam] = 1;
        return VKF_OK;
    }
    for (uint32_t i = 0; i < run->candidates; i++) {
        int32_t token = 0;
        VKF_RETURN_IF_ERROR(read_token(run, pairs[2 * i], &token));
        bool banned = is_banned(run, token);
        if (banned && (count > 0 || i + 1 < run->candidates))
            continue;
        out[count++] = (vkf__beam_candidate){
            .token = token,
            .score = banned ? -INFINITY : pairs[2 * i + 1],
            .ends = vkf__generation_ends(run->g, token),
        };
    }
    run->counts[beam] = count;
    return VKF_OK;
}

// The log-probability of a row's most probable token is finite unless the row's logits were not.
static vkf_status check_pairs(const beam_run *run, uint32_t row, uint32_t sequence)
{
    const vkf_session *session = run->g->session;
    if (session->desc.fully_masked == VKF_FULLY_MASKED_NAN ||
        vkf__all_finite(&run->pairs[(size_t)row * run->candidates * 2 + 1], 1))
        return VKF_OK;
    return vkf__not_finite(session, "sequence %u of the batch: the logits behind %u positions", sequence,
                           run->g->args->prompt_lengths[sequence] + run->made);
}

// The caller may examine whole sequences, which is slow, so it is asked only about the candidates that were gathered.
static void ask_caller(beam_run *run, uint32_t row)
{
    const vkf__beam_search *search = &run->searches[row];
    for (uint32_t i = 0; run->g->args->ends && i < search->gathered; i++) {
        vkf__beam_candidate *candidate = &search->candidates[i];
        if (candidate->ends)
            continue;
        memcpy(run->sequence, search->running.tokens + (size_t)candidate->beam * search->max_new,
               search->length * sizeof *run->sequence);
        run->sequence[search->length] = candidate->token;
        candidate->ends = vkf__generation_caller_ends(run->g, row, run->sequence, search->length + 1);
    }
}

static vkf_status read_pairs(beam_run *run, uint32_t rows)
{
    const vkf__span *top = &run->g->session->spans.top;
    const uint64_t bytes = (uint64_t)rows * run->candidates * 2 * sizeof(float);
    VKF_RETURN_IF_ERROR(vkf_buffer_read(top->buffer, top->offset_bytes, run->pairs, bytes));
    return vkf__part_share(run->g->session, run->pairs, (size_t)bytes);
}

// Chooses the next tokens of all beams and which beam each goes on from. The run of the prompt leaves one row for all
// beams of a sequence.
static vkf_status advance(beam_run *run, bool behind_prompt, uint32_t *out_live)
{
    uint32_t beams = run->beams;
    VKF_RETURN_IF_ERROR(read_pairs(run, behind_prompt ? run->batch : run->rows));
    *out_live = 0;
    run->common = run->made;
    for (uint32_t i = 0; i < run->batch; i++) {
        vkf__beam_search *search = &run->searches[i];
        uint32_t *sources = run->sources + (size_t)i * beams;
        for (uint32_t b = 0; b < beams; b++)
            sources[b] = b;
        if (!search->done) {
            uint32_t common = vkf__beam_search_common(search);
            run->common = common < run->common ? common : run->common;
            for (uint32_t b = 0; b < beams; b++) {
                uint32_t row = behind_prompt ? i : i * beams + b;
                VKF_RETURN_IF_ERROR(check_pairs(run, row, i));
                VKF_RETURN_IF_ERROR(take_tops(run, row, b));
            }
            vkf__beam_search_gather(search, run->tops, run->candidates, run->counts);
            ask_caller(run, i);
            vkf__beam_search_advance(search, sources);
        }
        for (uint32_t b = 0; b < beams; b++)
            sources[b] = behind_prompt ? i : i * beams + sources[b];
        *out_live += !search->done;
    }
    run->made++;
    return VKF_OK;
}

// Writes the last token of every row and, with a repetition penalty, the tokens that the row has seen.
static vkf_status write_rows(const beam_run *run)
{
    bool penalised = run->g->session->sampling.repetition_penalty != 1.0f;
    for (uint32_t row = 0; row < run->rows; row++) {
        const vkf__beam_search *search = &run->searches[row / run->beams];
        const int32_t *tokens = search->running.tokens + (size_t)(row % run->beams) * search->max_new;
        VKF_RETURN_IF_ERROR(vkf__generation_write_token(run->g, row, run->made - 1, tokens[search->length - 1]));
        if (penalised)
            VKF_RETURN_IF_ERROR(vkf__generation_write_seen(run->g, row, row / run->beams, tokens, search->length));
    }
    return VKF_OK;
}

static vkf_status step(beam_run *run, bool behind_prompt)
{
    vkf_session *session = run->g->session;
    const vkf__span *moves = &session->spans.moves;
    vkf__session_sizes sizes = vkf__generation_step(run->g, run->made);
    sizes.beams = run->beams;
    sizes.samples = false;
    sizes.searches = true;
    sizes.candidates = run->candidates;
    sizes.move_count = vkf__reorder_moves(run->sources, run->rows, run->readers, run->moves);
    sizes.moved_from = behind_prompt ? 0 : vkf__prompt_end(session, &run->g->prompt) + run->common;
    VKF_RETURN_IF_ERROR(write_rows(run));
    VKF_RETURN_IF_ERROR(vkf_buffer_write(moves->buffer, moves->offset_bytes, run->moves,
                                         2 * (uint64_t)sizes.move_count * sizeof(int32_t)));
    return vkf__session_run(session, VKF_STAGES_STEP, &sizes);
}

static vkf_status search(beam_run *run)
{
    vkf__generation *g = run->g;
    uint32_t live = 0;
    for (uint32_t i = 0; i < run->batch; i++)
        VKF_RETURN_IF_ERROR(vkf__generation_write_seen(g, i, i, NULL, 0));
    vkf__rows_forget(g->session);
    VKF_RETURN_IF_ERROR(vkf__prompt_run(g->session, g->args, &g->prompt, 0, run->candidates, false));
    g->prompted_ns = vkf__now_ns();
    VKF_RETURN_IF_ERROR(advance(run, true, &live));
    if (live > 0)
        VKF_RETURN_IF_ERROR(vkf__prompt_write(g->session, &g->prompt, run->beams));
    for (bool behind_prompt = true; live > 0; behind_prompt = false) {
        VKF_RETURN_IF_ERROR(step(run, behind_prompt));
        VKF_RETURN_IF_ERROR(advance(run, false, &live));
    }
    return VKF_OK;
}

// Hands the best sequence of each search to the caller token by token; the caller may cut it off.
static void take_best(const beam_run *run)
{
    vkf__generation *g = run->g;
    const vkf_generate_args *args = g->args;
    for (uint32_t i = 0; i < run->batch; i++) {
        const vkf__hypotheses *kept = &run->searches[i].kept;
        int32_t *ids = g->ids + (size_t)i * g->max_new;
        bool keep_going = true;
        for (uint32_t t = 0; t < kept->lengths[0] && keep_going; t++) {
            ids[g->lengths[i]++] = kept->tokens[t];
            keep_going = !args->on_token || args->on_token(args->on_token_user, i, ids[t]);
        }
        if (g->lengths[i] > 0 &&
            (vkf__generation_ends(g, ids[g->lengths[i] - 1]) || vkf__generation_caller_ends(g, i, ids, g->lengths[i])))
            g->reasons[i] = VKF_STOP_EOS;
        else if (!keep_going)
            g->reasons[i] = VKF_STOP_CALLER;
    }
}

vkf_status vkf__generate_by_beams(vkf__generation *g)
{
    vkf_status status = VKF_OK;
    beam_run run = {.g = g};
    VKF_TRY(run_make(g, &run));
    VKF_TRY(search(&run));
    take_best(&run);
fail:
    run_free(&run);
    return status;
}

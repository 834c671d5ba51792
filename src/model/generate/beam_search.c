// Beam search on the host: which candidates go on, which end, and when a search is done.
#include "model/generate/beam_search.h"

#include <math.h>
#include <string.h>

// Added to the score of a sequence that must not be chosen, as transformers does it.
#define OUT (-1.0e9f)

static void free_hypotheses(const vkf__host *host, vkf__hypotheses *h)
{
    vkf__free(host, h->tokens);
    vkf__free(host, h->lengths);
    vkf__free(host, h->scores);
    vkf__free(host, h->finished);
}

void vkf__beam_search_free(const vkf__host *host, vkf__beam_search *search)
{
    free_hypotheses(host, &search->running);
    free_hypotheses(host, &search->kept);
    free_hypotheses(host, &search->spare);
    vkf__free(host, search->candidates);
    vkf__free(host, search->scores);
    vkf__free(host, search->taken);
}

static vkf_status make_hypotheses(const vkf__host *host, uint32_t count, uint32_t max_new, vkf__hypotheses *h)
{
    VKF_ALLOC_OR_RETURN(host, h->tokens, (size_t)count * max_new);
    VKF_ALLOC_OR_RETURN(host, h->lengths, count);
    VKF_ALLOC_OR_RETURN(host, h->scores, count);
    VKF_ALLOC_OR_RETURN(host, h->finished, count);
    for (uint32_t i = 0; i < count; i++)
        h->scores[i] = OUT;
    return VKF_OK;
}

vkf_status vkf__beam_search_make(const vkf__host *host, const vkf_beam_search *desc, uint32_t max_new,
                                 uint32_t end_count, vkf__beam_search *out_search)
{
    vkf_status status = VKF_OK;
    vkf__beam_search search = {.desc = *desc, .max_new = max_new, .improvable = true};
    search.candidate_count = (end_count > 1 ? 1 + end_count : 2) * desc->num_beams;
    VKF_TRY(make_hypotheses(host, desc->num_beams, max_new, &search.running));
    VKF_TRY(make_hypotheses(host, desc->num_beams, max_new, &search.kept));
    VKF_TRY(make_hypotheses(host, desc->num_beams, max_new, &search.spare));
    VKF_ALLOC(host, search.candidates, search.candidate_count);
    VKF_ALLOC(host, search.scores, desc->num_beams + search.candidate_count);
    VKF_ALLOC(host, search.taken, desc->num_beams + search.candidate_count);
    // All beams begin with the same tokens, so only the first one counts.
    search.running.scores[0] = 0.0f;
    *out_search = search;
    return VKF_OK;
fail:
    vkf__beam_search_free(host, &search);
    return status;
}

void vkf__beam_search_gather(vkf__beam_search *search, const vkf__beam_candidate *tops, uint32_t k,
                             const uint32_t *counts)
{
    uint32_t heads[VKF_MAX_BEAMS] = {0}, beams = search->desc.num_beams;
    for (search->gathered = 0; search->gathered < search->candidate_count; search->gathered++) {
        vkf__beam_candidate *out = &search->candidates[search->gathered];
        uint32_t best = beams;
        for (uint32_t i = 0; i < beams; i++) {
            if (heads[i] == counts[i])
                continue;
            vkf__beam_candidate next = tops[(size_t)i * k + heads[i]];
            next.beam = i;
            next.score += search->running.scores[i];
            if (best == beams || next.score > out->score) {
                *out = next;
                best = i;
            }
        }
        if (best == beams)
            return;
        heads[best]++;
    }
}

// Takes the largest score that was not taken yet, the first among equals, and returns its index.
static uint32_t take_best(const float *scores, bool *taken, uint32_t count)
{
    uint32_t best = count;
    for (uint32_t i = 0; i < count; i++)
        if (!taken[i] && (best == count || scores[i] > scores[best]))
            best = i;
    taken[best] = true;
    return best;
}

static void swap(vkf__hypotheses *a, vkf__hypotheses *b)
{
    vkf__hypotheses other = *a;
    *a = *b;
    *b = other;
}

// Makes hypothesis `to` of another one's tokens, and of one more where `token` is not NULL.
static void copy_tokens(const vkf__beam_search *search, const vkf__hypotheses *from, uint32_t source, uint32_t length,
                        const int32_t *token, vkf__hypotheses *out, uint32_t to)
{
    int32_t *tokens = out->tokens + (size_t)to * search->max_new;
    memcpy(tokens, from->tokens + (size_t)source * search->max_new, length * sizeof *tokens);
    if (token)
        tokens[length++] = *token;
    out->lengths[to] = length;
}

// The best candidates that do not end go on. Where there are too few of them, ending ones fill up at a hopeless score.
static void choose_running(vkf__beam_search *search, uint32_t *out_sources)
{
    const vkf__hypotheses *running = &search->running;
    vkf__hypotheses *next = &search->spare;
    for (uint32_t i = 0; i < search->gathered; i++) {
        search->scores[i] = search->candidates[i].score + (search->candidates[i].ends ? OUT : 0.0f);
        search->taken[i] = false;
    }
    for (uint32_t to = 0; to < search->desc.num_beams; to++) {
        uint32_t best = take_best(search->scores, search->taken, search->gathered);
        const vkf__beam_candidate *candidate = &search->candidates[best];
        copy_tokens(search, running, candidate->beam, search->length, &candidate->token, next, to);
        next->scores[to] = search->scores[best];
        out_sources[to] = candidate->beam;
    }
}

static bool all_kept(const vkf__beam_search *search)
{
    for (uint32_t i = 0; i < search->desc.num_beams; i++)
        if (!search->kept.finished[i])
            return false;
    return true;
}

static float divisor(const vkf__beam_search *search, uint32_t length)
{
    return (float)pow((double)length, (double)search->desc.length_penalty);
}

// Keeps the best of the hypotheses kept so far and of those that end now. Only the first num_beams candidates may end;
// there are more of them so that enough can go on.
static void choose_kept(vkf__beam_search *search)
{
    uint32_t beams = search->desc.num_beams, count = beams + search->gathered;
    const float by = divisor(search, search->length + 1);
    bool full = all_kept(search) && search->desc.early_stopping == VKF_EARLY_STOPPING_ON;
    vkf__hypotheses *next = &search->spare;
    for (uint32_t i = 0; i < count; i++) {
        const vkf__beam_candidate *candidate = &search->candidates[i < beams ? 0 : i - beams];
        bool ends = candidate->ends && i < 2 * beams;
        search->taken[i] = false;
        search->scores[i] = i < beams ? search->kept.scores[i]
                                      : candidate->score / by + (full ? OUT : 0.0f) +
                                            (search->improvable ? 0.0f : OUT) + (ends ? 0.0f : OUT);
    }
    for (uint32_t to = 0; to < beams; to++) {
        uint32_t best = take_best(search->scores, search->taken, count);
        const vkf__beam_candidate *candidate = &search->candidates[best < beams ? 0 : best - beams];
        if (best < beams)
            copy_tokens(search, &search->kept, best, search->kept.lengths[best], NULL, next, to);
        else
            copy_tokens(search, &search->running, candidate->beam, search->length, &candidate->token, next, to);
        next->scores[to] = search->scores[best];
        next->finished[to] = best < beams ? search->kept.finished[best] : candidate->ends && best < 2 * beams;
    }
    swap(&search->kept, next);
}

// Guesses whether the best running sequence may still become better than the worst one kept. The guess is its score if
// it ended now; where the search must never stop early, its score at full length.
static bool may_improve(const vkf__beam_search *search)
{
    bool patient = search->desc.early_stopping == VKF_EARLY_STOPPING_NEVER && search->desc.length_penalty > 0.0f;
    float best = search->running.scores[0] / divisor(search, patient ? search->max_new : search->length);
    float worst = search->kept.scores[search->desc.num_beams - 1];
    return best > (all_kept(search) ? worst : OUT);
}

static bool all_end(const vkf__beam_search *search)
{
    for (uint32_t i = 0; i < search->gathered; i++)
        if (!search->candidates[i].ends)
            return false;
    return true;
}

void vkf__beam_search_advance(vkf__beam_search *search, uint32_t *out_sources)
{
    bool last = search->length + 1 == search->max_new;
    for (uint32_t i = 0; i < search->gathered; i++)
        search->candidates[i].ends = search->candidates[i].ends || last;
    // Both read the running sequences as they were before this token.
    choose_kept(search);
    choose_running(search, out_sources);
    swap(&search->running, &search->spare);
    search->length++;
    search->improvable = search->improvable && may_improve(search);
    search->done = !search->improvable || all_end(search) ||
                   (search->desc.early_stopping == VKF_EARLY_STOPPING_ON && all_kept(search));
}

uint32_t vkf__beam_search_common(const vkf__beam_search *search)
{
    uint32_t common = search->length;
    for (uint32_t i = 1; i < search->desc.num_beams; i++) {
        const int32_t *tokens = search->running.tokens + (size_t)i * search->max_new;
        uint32_t same = 0;
        while (same < common && tokens[same] == search->running.tokens[same])
            same++;
        common = same;
    }
    return common;
}

// Beam search by hand: which sequences go on, which are kept, and when it ends; and the moves that make caches follow.
// That whole texts are those of transformers is test_decoder.c's and test_pretrained_seq2seq.c's business.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/generate/beam_search.h"
#include "op/reorder.h"
#include "support/fixture.h"

#define END 9
#define WIDE 4

static vkf__host make_host(void)
{
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_WARNING), VKF_OK);
    return host;
}

static vkf__beam_search make(const vkf__host *host, vkf_beam_search desc, uint32_t max_new)
{
    vkf__beam_search search = {0};
    assert_int_equal(vkf__beam_search_make(host, &desc, max_new, 1, &search), VKF_OK);
    return search;
}

// One step: of every running sequence two tokens and their log-probabilities.
typedef struct tops {
    int32_t tokens[2];
    float scores[2];
} tops;

static void advance(vkf__beam_search *search, const tops *rows, uint32_t *sources)
{
    vkf__beam_candidate candidates[2 * WIDE] = {0};
    uint32_t counts[WIDE];
    for (uint32_t i = 0; i < search->desc.num_beams; i++) {
        counts[i] = 2;
        for (uint32_t k = 0; k < 2; k++)
            candidates[2 * i + k] = (vkf__beam_candidate){
                .token = rows[i].tokens[k], .score = rows[i].scores[k], .ends = rows[i].tokens[k] == END};
    }
    vkf__beam_search_gather(search, candidates, 2, counts);
    vkf__beam_search_advance(search, sources);
}

static void assert_tokens(const vkf__beam_search *search, const vkf__hypotheses *of, uint32_t index,
                          const int32_t *tokens, uint32_t count)
{
    assert_int_equal(of->lengths[index], count);
    assert_memory_equal(of->tokens + (size_t)index * search->max_new, tokens, count * sizeof *tokens);
}

// The first step has one sequence to go on from, the second follows both, the third leaves one of them.
static void test_the_most_probable_sequences_go_on(void **state)
{
    (void)state;
    const vkf__host host = make_host();
    vkf__beam_search search = make(&host, (vkf_beam_search){.num_beams = 2, .length_penalty = 1}, 5);
    const tops steps[3][2] = {
        {{{1, 2}, {-1, -2}}, {{1, 2}, {-1, -2}}},
        {{{3, 4}, {-3, -4}}, {{5, 6}, {-0.5f, -4}}},
        {{{7, 8}, {-0.1f, -0.2f}}, {{3, 4}, {-2, -3}}},
    };
    static const int32_t first[] = {2, 5, 7}, second[] = {2, 5, 8};
    uint32_t sources[2];
    assert_int_equal(search.candidate_count, 4);
    advance(&search, steps[0], sources);
    assert_true(sources[0] == 0 && sources[1] == 0);
    assert_int_equal(vkf__beam_search_common(&search), 0);
    advance(&search, steps[1], sources);
    assert_true(sources[0] == 1 && sources[1] == 0);
    assert_true(search.running.scores[0] == -2.5f && search.running.scores[1] == -4.0f);
    advance(&search, steps[2], sources);
    assert_true(sources[0] == 0 && sources[1] == 0 && !search.done);
    assert_tokens(&search, &search.running, 0, first, 3);
    assert_tokens(&search, &search.running, 1, second, 3);
    assert_int_equal(vkf__beam_search_common(&search), 2);
    vkf__beam_search_free(&host, &search);
}

// Candidate 2 of 4 ends, which is not among the first two: it is neither kept nor does it go on.
static void test_an_end_behind_the_first_candidates_is_not_kept(void **state)
{
    (void)state;
    const vkf__host host = make_host();
    vkf__beam_search search = make(&host, (vkf_beam_search){.num_beams = 2, .length_penalty = 1}, 5);
    const tops begin[2] = {{{1, 2}, {-1, -1}}, {{1, 2}, {-1, -1}}};
    const tops rows[2] = {{{3, END}, {-1, -3}}, {{4, 5}, {-2, -4}}};
    static const int32_t kept[] = {1, END};
    const tops other[2] = {{{3, END}, {-1, -1.5f}}, {{4, 5}, {-2, -4}}};
    uint32_t sources[2];
    advance(&search, begin, sources);
    advance(&search, rows, sources);
    assert_true(!search.kept.finished[0] && search.running.scores[1] == -3.0f);
    vkf__beam_search_free(&host, &search);
    search = make(&host, (vkf_beam_search){.num_beams = 2, .length_penalty = 1}, 5);
    advance(&search, begin, sources);
    advance(&search, other, sources);
    assert_true(search.kept.finished[0] && !search.kept.finished[1]);
    assert_tokens(&search, &search.kept, 0, kept, 2);
    assert_true(search.kept.scores[0] == -2.5f / 2);
    assert_true(sources[0] == 0 && sources[1] == 1);
    vkf__beam_search_free(&host, &search);
}

// Two sequences end in two steps. What runs on is worse if it ended at once, and better at full length, if its length
// counts for it.
static uint32_t steps_until_done(vkf_early_stopping early, float length_penalty)
{
    const vkf__host host = make_host();
    const vkf_beam_search desc = {.num_beams = 2, .length_penalty = length_penalty, .early_stopping = early};
    vkf__beam_search search = make(&host, desc, 20);
    const tops begin[2] = {{{1, END}, {-1, -1.5f}}, {{1, END}, {-1, -1.5f}}};
    const tops rows[2] = {{{END, 3}, {-0.5f, -1}}, {{END, 3}, {-5, -6}}};
    const tops on[2] = {{{3, 4}, {-0.25f, -0.5f}}, {{3, 4}, {-1, -2}}};
    uint32_t sources[2], steps = 0;
    advance(&search, begin, sources);
    advance(&search, rows, sources);
    for (steps = 2; !search.done; steps++)
        advance(&search, on, sources);
    assert_true(search.kept.finished[0] && search.kept.finished[1]);
    vkf__beam_search_free(&host, &search);
    return steps;
}

static void test_early_stopping(void **state)
{
    (void)state;
    // Kept with -1.5 / 2 and -1.5; running -2, which is -1 a token.
    assert_int_equal(steps_until_done(VKF_EARLY_STOPPING_ON, 1), 2);
    assert_int_equal(steps_until_done(VKF_EARLY_STOPPING_OFF, 0), 2);
    assert_int_equal(steps_until_done(VKF_EARLY_STOPPING_NEVER, 0), 2);
    assert_int_equal(steps_until_done(VKF_EARLY_STOPPING_OFF, 1), 20);
    assert_int_equal(steps_until_done(VKF_EARLY_STOPPING_NEVER, 1), 20);
    // Below 0 long ones are worse.
    assert_int_equal(steps_until_done(VKF_EARLY_STOPPING_NEVER, -1), 2);
}

// At full length everything ends; the best by its score over length^penalty is the first of those kept.
static void test_full_length_and_length_penalty(void **state)
{
    (void)state;
    const vkf__host host = make_host();
    static const float penalties[] = {0, 3};
    static const int32_t brief[] = {END}, whole[] = {1, 3, 3};
    for (size_t i = 0; i < 2; i++) {
        const vkf_beam_search desc = {.num_beams = 2, .length_penalty = penalties[i]};
        vkf__beam_search search = make(&host, desc, 3);
        const tops begin[2] = {{{1, END}, {-1, -1.5f}}, {{1, END}, {-1, -1.5f}}};
        const tops on[2] = {{{3, 4}, {-0.5f, -2}}, {{3, 4}, {-3, -4}}};
        uint32_t sources[2], steps = 1;
        advance(&search, begin, sources);
        for (; !search.done; steps++)
            advance(&search, on, sources);
        assert_int_equal(steps, 3);
        if (i == 0)
            assert_tokens(&search, &search.kept, 0, brief, 1);
        else
            assert_tokens(&search, &search.kept, 0, whole, 3);
        assert_true(search.kept.scores[0] >= search.kept.scores[1]);
        vkf__beam_search_free(&host, &search);
    }
}

static void test_numbers_that_are_none_end_it(void **state)
{
    (void)state;
    const vkf__host host = make_host();
    vkf__beam_search search = make(&host, (vkf_beam_search){.num_beams = 2, .length_penalty = 1}, 50);
    const tops rows[2] = {{{1, END}, {NAN, NAN}}, {{1, END}, {NAN, NAN}}};
    uint32_t sources[2], steps = 0;
    for (; !search.done; steps++)
        advance(&search, rows, sources);
    assert_in_range(steps, 1, 50);
    vkf__beam_search_free(&host, &search);
}

static void check_moves(const uint32_t *sources, uint32_t count)
{
    uint32_t readers[64], rows[64], aside = 0;
    int32_t moves[2 * 96];
    uint32_t made = vkf__reorder_moves(sources, count, readers, moves), changed = 0;
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = i;
        changed += sources[i] != i;
    }
    assert_true(made <= changed + changed / 2);
    for (uint32_t m = 0; m < made; m++) {
        uint32_t value = moves[2 * m + 1] < 0 ? aside : rows[moves[2 * m + 1]];
        if (moves[2 * m] < 0)
            aside = value;
        else
            rows[moves[2 * m]] = value;
    }
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(rows[i], sources[i]);
}

// Every way in which four rows can go on, and random ones of many.
static void test_moves_give_every_row_its_source(void **state)
{
    (void)state;
    uint32_t sources[64], random = 1;
    for (uint32_t i = 0; i < 256; i++) {
        for (uint32_t row = 0; row < 4; row++)
            sources[row] = i >> 2 * row & 3;
        check_moves(sources, 4);
    }
    for (uint32_t i = 0; i < 500; i++) {
        uint32_t count = 1 + i % 64;
        for (uint32_t row = 0; row < count; row++) {
            random = random * 1664525u + 1013904223u;
            sources[row] = (random >> 8) % count;
        }
        check_moves(sources, count);
    }
    for (uint32_t row = 0; row < 64; row++)
        sources[row] = (row + 1) % 64;
    check_moves(sources, 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_most_probable_sequences_go_on),
        cmocka_unit_test(test_an_end_behind_the_first_candidates_is_not_kept),
        cmocka_unit_test(test_early_stopping),
        cmocka_unit_test(test_full_length_and_length_penalty),
        cmocka_unit_test(test_numbers_that_are_none_end_it),
        cmocka_unit_test(test_moves_give_every_row_its_source),
    };
    return cmocka_run_group_tests_name("beam_search", tests, NULL, NULL);
}

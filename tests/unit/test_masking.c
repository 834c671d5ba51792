// Masked words: how many are chosen, what becomes of them, and what it follows from.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "train/example_tokens.h"
#include "train/masking.h"

enum { MASK = 3, VOCAB = 1000, TOKENS = 102, FIRST_ID = 5 };

static const vkf_masking masking = {.mask_id = MASK, .vocab = VOCAB, .seed = UINT64_C(0x100000007)};

typedef struct row {
    int32_t ids[TOKENS], labels[TOKENS];
} row;

// Special tokens around `count` others.
static row make_row(uint32_t count)
{
    row r;
    for (uint32_t i = 0; i < TOKENS; i++) {
        r.ids[i] = (int32_t)(FIRST_ID + i);
        r.labels[i] = i > 0 && i <= count ? r.ids[i] : VKF_IGNORED_LABEL;
    }
    return r;
}

static uint32_t count_chosen(const row *r)
{
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < TOKENS; i++)
        chosen += r->labels[i] != VKF_IGNORED_LABEL;
    return chosen;
}

static void test_masking_chooses_its_share(void **state)
{
    (void)state;
    static const uint32_t counts[][2] = {{0, 0}, {1, 1}, {2, 1}, {9, 1}, {10, 2}, {16, 2}, {17, 3}, {100, 15}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        row r = make_row(counts[i][0]);
        vkf_masking_apply(&masking, 0, 0, TOKENS, r.ids, r.labels);
        assert_int_equal(count_chosen(&r), counts[i][1]);
    }
}

// Labels are what stood there; all else stays.
static void test_masking_keeps_what_is_not_chosen(void **state)
{
    (void)state;
    row r = make_row(100);
    vkf_masking_apply(&masking, 4, 7, TOKENS, r.ids, r.labels);
    assert_true(r.labels[0] == VKF_IGNORED_LABEL && r.labels[TOKENS - 1] == VKF_IGNORED_LABEL);
    for (uint32_t i = 0; i < TOKENS; i++)
        assert_int_equal(r.labels[i] == VKF_IGNORED_LABEL ? r.ids[i] : r.labels[i], FIRST_ID + i);
}

// Among 15,000 tokens 80 % are the mask, 10 % any token and 10 % themselves, within four deviations; so is how often
// each place is chosen, of 1,000 times.
static void test_masking_draws_evenly(void **state)
{
    (void)state;
    enum { EXAMPLES = 1000 };
    uint32_t masks = 0, same = 0, other = 0, places[TOKENS] = {0};
    double sum = 0;
    for (uint32_t example = 0; example < EXAMPLES; example++) {
        row r = make_row(100);
        vkf_masking_apply(&masking, 2, example, TOKENS, r.ids, r.labels);
        for (uint32_t i = 0; i < TOKENS; i++) {
            if (r.labels[i] == VKF_IGNORED_LABEL)
                continue;
            assert_in_range(r.ids[i], 0, VOCAB - 1);
            places[i]++;
            masks += r.ids[i] == MASK;
            same += r.ids[i] == r.labels[i];
            other += r.ids[i] != MASK && r.ids[i] != r.labels[i];
            sum += r.ids[i] != MASK && r.ids[i] != r.labels[i] ? r.ids[i] : 0;
        }
    }
    assert_int_equal(masks + same + other, 15 * EXAMPLES);
    assert_in_range(masks, 11804, 12196);
    assert_in_range(same, 1353, 1647);
    assert_in_range((int)(sum / other), VOCAB / 2 - 30, VOCAB / 2 + 30);
    for (uint32_t i = 1; i <= 100; i++)
        assert_in_range(places[i], 105, 195);
}

static void test_masking_follows_from_seed_epoch_and_example(void **state)
{
    (void)state;
    const vkf_masking others[] = {masking, masking, masking, {MASK, VOCAB, 7}, {MASK, VOCAB, UINT64_C(0x100000008)}};
    const uint32_t epochs[] = {1, 2, 1, 1, 1}, examples[] = {1, 1, 2, 1, 1};
    row first = make_row(100);
    vkf_masking_apply(&masking, 1, 1, TOKENS, first.ids, first.labels);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        row r = make_row(100);
        vkf_masking_apply(&others[i], epochs[i], examples[i], TOKENS, r.ids, r.labels);
        assert_int_equal(memcmp(&r, &first, sizeof r) == 0, i == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masking_chooses_its_share),
        cmocka_unit_test(test_masking_keeps_what_is_not_chosen),
        cmocka_unit_test(test_masking_draws_evenly),
        cmocka_unit_test(test_masking_follows_from_seed_epoch_and_example),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

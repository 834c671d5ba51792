// Batches: no larger than allowed, every example once an epoch, and the same again from numbers alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "random.h"
#include "recording_host.h"
#include "train/batches.h"

#define MAX_EXAMPLES 500u
#define MAX_IDS 40u

// Examples of given lengths. Each id says which example it is of, and on which side.
typedef struct corpus {
    uint32_t count;
    uint32_t source_counts[MAX_EXAMPLES], target_counts[MAX_EXAMPLES];
    int32_t source[MAX_IDS], target[MAX_IDS];
    vkf_status failure; // of the callback for example 3
} corpus;

static vkf_status ids_of(void *user, uint32_t example, vkf_example_ids *out_ids)
{
    corpus *c = user;
    assert_in_range(example, 0, c->count - 1);
    for (uint32_t i = 0; i < MAX_IDS; i++) {
        c->source[i] = (int32_t)(1 + 2 * example);
        c->target[i] = (int32_t)(2 + 2 * example);
    }
    *out_ids = (vkf_example_ids){c->source, c->target, c->source_counts[example], c->target_counts[example]};
    return example == 3 ? c->failure : VKF_OK;
}

static void make_corpus(corpus *c, uint32_t count, uint32_t shortest, uint32_t longest)
{
    vkf_test_random random;
    vkf_test_random_init(&random, count);
    *c = (corpus){.count = count};
    for (uint32_t i = 0; i < count; i++) {
        c->source_counts[i] = shortest + vkf_test_random_below(&random, longest - shortest + 1);
        c->target_counts[i] = shortest + vkf_test_random_below(&random, longest - shortest + 1);
    }
}

static vkf_batches_desc desc_of(corpus *c)
{
    return (vkf_batches_desc){
        .example_count = c->count,
        .ids = ids_of,
        .ids_user = c,
        .has_targets = true,
        .max_tokens = 100,
        .source_pad_id = -1,
        .target_pad_id = -2,
        .seed = 11,
    };
}

static vkf_batches *create(recording_host *host, const vkf_batches_desc *desc)
{
    vkf_batches *batches = NULL;
    recording_host_init(host);
    assert_int_equal(vkf_batches_create(&host->host, desc, &batches), VKF_OK);
    return batches;
}

static void finish(recording_host *host, vkf_batches **batches)
{
    assert_int_equal(host->messages, 0);
    vkf_batches_destroy(batches);
    assert_null(*batches);
    assert_int_equal(host->live, 0);
}

static void expect_row(const int32_t *row, uint32_t length, uint32_t count, int32_t id, int32_t pad_id)
{
    for (uint32_t i = 0; i < length; i++)
        assert_int_equal(row[i], i < count ? id : pad_id);
}

// The batch is what the corpus has, padded, and within the descriptor's limits.
static void expect_batch(const corpus *c, const vkf_batches_desc *desc, const vkf_batch *batch)
{
    uint64_t source_tokens = 0, target_tokens = 0;
    const uint32_t longer = batch->source_len > batch->target_len ? batch->source_len : batch->target_len;
    assert_in_range((uint64_t)batch->rows * longer, 1, desc->max_tokens);
    for (uint32_t row = 0; row < batch->rows; row++) {
        const uint32_t example = batch->examples[row];
        assert_int_equal(batch->source_lengths[row], c->source_counts[example]);
        assert_int_equal(batch->target_lengths[row], c->target_counts[example]);
        expect_row(batch->source_ids + row * batch->source_len, batch->source_len, c->source_counts[example],
                   (int32_t)(1 + 2 * example), -1);
        expect_row(batch->target_ids + row * batch->target_len, batch->target_len, c->target_counts[example],
                   (int32_t)(2 + 2 * example), -2);
        source_tokens += c->source_counts[example];
        target_tokens += c->target_counts[example];
    }
    assert_int_equal(batch->source_tokens, source_tokens);
    assert_int_equal(batch->target_tokens, target_tokens);
}

// Adds how often each example comes in the batches begin .. end - 1.
static void count_examples(const corpus *c, const vkf_batches_desc *desc, vkf_batches *batches, uint64_t begin,
                           uint64_t end, uint32_t *inout_times)
{
    for (uint64_t number = begin; number < end; number++) {
        const vkf_batch *batch = NULL;
        assert_int_equal(vkf_batches_get(batches, number, &batch), VKF_OK);
        expect_batch(c, desc, batch);
        for (uint32_t row = 0; row < batch->rows; row++)
            inout_times[batch->examples[row]]++;
    }
}

static uint32_t larger_of(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void expect_largest(vkf_batches *batches)
{
    const vkf_batch_sizes largest = vkf_batches_largest(batches);
    vkf_batch_sizes found = {0};
    for (uint32_t i = 0; i < vkf_batches_per_epoch(batches); i++) {
        const vkf_batch *batch = NULL;
        assert_int_equal(vkf_batches_get(batches, i, &batch), VKF_OK);
        found.rows = larger_of(found.rows, batch->rows);
        found.source_len = larger_of(found.source_len, batch->source_len);
        found.target_len = larger_of(found.target_len, batch->target_len);
    }
    assert_memory_equal(&found, &largest, sizeof found);
}

static void test_batches_have_every_example_once_an_epoch(void **state)
{
    (void)state;
    corpus c;
    for (uint32_t count = 1; count < 60; count++) {
        recording_host host;
        make_corpus(&c, count, 1, 20);
        const vkf_batches_desc desc = desc_of(&c);
        vkf_batches *batches = create(&host, &desc);
        const uint64_t per_epoch = vkf_batches_per_epoch(batches);
        expect_largest(batches);
        for (uint32_t epoch = 0; epoch < 3; epoch++) {
            uint32_t times[MAX_EXAMPLES] = {0};
            count_examples(&c, &desc, batches, epoch * per_epoch, (epoch + 1) * per_epoch, times);
            for (uint32_t i = 0; i < count; i++)
                assert_int_equal(times[i], 1);
        }
        finish(&host, &batches);
    }
}

// The examples of a batch, in order, as a number.
static uint64_t digest(vkf_batches *batches, uint64_t number)
{
    const vkf_batch *batch = NULL;
    uint64_t digest = 0;
    assert_int_equal(vkf_batches_get(batches, number, &batch), VKF_OK);
    for (uint32_t row = 0; row < batch->rows; row++)
        digest = digest * 1000003 + batch->examples[row];
    return digest;
}

static uint64_t size_of(vkf_batches *batches, uint64_t number)
{
    const vkf_batch *batch = NULL;
    assert_int_equal(vkf_batches_get(batches, number, &batch), VKF_OK);
    return (uint64_t)batch->source_len << 32 | batch->target_len;
}

static void test_batches_follow_from_numbers(void **state)
{
    (void)state;
    corpus c;
    recording_host hosts[3];
    make_corpus(&c, 400, 5, 8);
    vkf_batches_desc desc = desc_of(&c);
    vkf_batches *first = create(&hosts[0], &desc), *again = create(&hosts[1], &desc);
    desc.seed++;
    vkf_batches *other = create(&hosts[2], &desc);
    const uint64_t per_epoch = vkf_batches_per_epoch(first);
    uint32_t equal = 0, equal_epochs = 0, equal_sizes = 0;
    for (uint64_t number = 0; number < 2 * per_epoch; number++)
        assert_int_equal(digest(first, number), digest(again, number));
    assert_int_equal(digest(again, 3), digest(first, 3)); // whatever was asked for before
    for (uint64_t number = 0; number < per_epoch; number++) {
        equal += digest(first, number) == digest(other, number);
        equal_epochs += digest(first, number) == digest(first, per_epoch + number);
        equal_sizes += size_of(first, number) == size_of(first, per_epoch + number);
    }
    assert_true(equal <= 1 && equal_epochs <= 1);
    assert_in_range(equal_sizes, 0, per_epoch / 2); // in another order
    finish(&hosts[0], &first);
    finish(&hosts[1], &again);
    finish(&hosts[2], &other);
}

// Equally long examples meet others in another epoch; in the order of the batches alone they would not.
static void test_batches_mix_what_is_equally_long(void **state)
{
    (void)state;
    corpus c;
    recording_host host;
    make_corpus(&c, 300, 10, 10);
    const vkf_batches_desc desc = desc_of(&c);
    vkf_batches *batches = create(&host, &desc);
    uint32_t batch_of[2][MAX_EXAMPLES], together = 0;
    const uint32_t per_epoch = vkf_batches_per_epoch(batches);
    assert_int_equal(per_epoch, 30);
    for (uint32_t number = 0; number < 2 * per_epoch; number++) {
        const vkf_batch *batch = NULL;
        assert_int_equal(vkf_batches_get(batches, number, &batch), VKF_OK);
        for (uint32_t row = 0; row < batch->rows; row++)
            batch_of[number / per_epoch][batch->examples[row]] = number;
    }
    for (uint32_t a = 0; a < 300; a++)
        for (uint32_t b = 0; b < a; b++)
            together += batch_of[0][a] == batch_of[0][b] && batch_of[1][a] == batch_of[1][b];
    // 1350 pairs meet in the first epoch, and 9 of 299 of them again: about 41.
    assert_in_range(together, 10, 80);
    finish(&host, &batches);
}

// What fairseq 0.12's batch_by_size_fn() makes of these lengths, shortest first.
static void test_batches_are_those_of_fairseq(void **state)
{
    (void)state;
    static const struct {
        uint32_t max_tokens, max_rows, row_multiple, batch_count, rows[20];
    } cases[] = {
        {20, 0, 3, 11, {3, 2, 3, 3, 2, 2, 1, 1, 1, 1, 1}},
        {20, 0, 1, 11, {4, 2, 3, 2, 2, 2, 1, 1, 1, 1, 1}},
        {40, 0, 1, 6, {4, 4, 5, 3, 2, 2}},
        {40, 3, 1, 8, {3, 3, 3, 3, 3, 2, 2, 1}},
        {40, 0, 2, 6, {4, 4, 4, 4, 2, 2}},
        {60, 0, 3, 5, {6, 6, 3, 3, 2}},
        {100, 0, 4, 3, {8, 8, 4}},
        {100, 5, 2, 5, {4, 4, 4, 4, 4}},
        {1000, 0, 8, 1, {20}},
        {1000, 7, 3, 4, {6, 6, 6, 2}},
    };
    static const uint32_t sources[] = {1, 1, 2, 2, 2, 3, 4, 5, 5, 5, 6, 7, 7, 8, 9, 9, 9, 10, 12, 20};
    static const uint32_t targets[] = {2, 3, 1, 2, 9, 3, 4, 4, 5, 6, 6, 5, 7, 8, 3, 9, 20, 9, 13, 20};
    corpus c = {.count = 20};
    memcpy(c.source_counts, sources, sizeof sources);
    memcpy(c.target_counts, targets, sizeof targets);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        recording_host host;
        vkf_batches_desc desc = desc_of(&c);
        desc.max_tokens = cases[i].max_tokens;
        desc.max_rows = cases[i].max_rows;
        desc.row_multiple = cases[i].row_multiple;
        vkf_batches *batches = create(&host, &desc);
        assert_int_equal(vkf_batches_per_epoch(batches), cases[i].batch_count);
        uint32_t first_of[20] = {0};
        for (uint32_t b = 0, at = 0; b < cases[i].batch_count; at += cases[i].rows[b++])
            first_of[at] = cases[i].rows[b];
        for (uint32_t number = 0; number < cases[i].batch_count; number++) {
            const vkf_batch *batch = NULL;
            assert_int_equal(vkf_batches_get(batches, number, &batch), VKF_OK);
            assert_int_equal(batch->rows, first_of[batch->examples[0]]); // no two of the examples are equally long
            for (uint32_t row = 1; row < batch->rows; row++)
                assert_int_equal(batch->examples[row], batch->examples[0] + row);
        }
        finish(&host, &batches);
    }
}

static void test_batches_pad_to_multiples(void **state)
{
    (void)state;
    corpus c;
    recording_host host;
    make_corpus(&c, 200, 1, 20);
    vkf_batches_desc desc = desc_of(&c);
    desc.source_multiple = 8;
    desc.target_multiple = 7;
    desc.max_source_len = 20; // which is no multiple
    desc.max_target_len = 20;
    desc.max_rows = 7;
    desc.row_multiple = 3;
    vkf_batches *batches = create(&host, &desc);
    uint32_t odd_rows = 0;
    for (uint32_t number = 0; number < vkf_batches_per_epoch(batches); number++) {
        const vkf_batch *batch = NULL;
        assert_int_equal(vkf_batches_get(batches, number, &batch), VKF_OK);
        expect_batch(&c, &desc, batch);
        assert_true(batch->source_len == 8 || batch->source_len == 16 || batch->source_len == 20);
        assert_true(batch->target_len == 7 || batch->target_len == 14 || batch->target_len == 20);
        assert_in_range(batch->rows, 1, 7);
        odd_rows += batch->rows % 3 != 0;
    }
    assert_in_range(odd_rows, 0, 1);
    finish(&host, &batches);
}

static void test_batches_leave_out_what_is_empty_or_too_long(void **state)
{
    (void)state;
    corpus c;
    recording_host host;
    make_corpus(&c, 10, 5, 9);
    c.source_counts[2] = 0;
    c.target_counts[4] = 0;
    c.source_counts[5] = 11;
    c.target_counts[6] = 13;
    c.target_counts[8] = 31;
    vkf_batches_desc desc = desc_of(&c);
    desc.max_source_len = 10;
    desc.max_tokens = 30;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t times[MAX_EXAMPLES] = {0}, first = 77;
        desc.has_targets = i != 1;
        desc.max_target_len = i == 2 ? 12 : 0;
        vkf_batches *batches = create(&host, &desc);
        count_examples(&c, &desc, batches, 0, vkf_batches_per_epoch(batches), times);
        for (uint32_t e = 0; e < 10; e++)
            assert_int_equal(times[e], e != 2 && (e != 4 || i == 1) && e != 5 && (e != 6 || i < 2) && e != 8);
        assert_int_equal(vkf_batches_left_out(batches, &first), i == 0 ? 4 : i == 1 ? 3 : 5);
        assert_int_equal(vkf_batches_left_out(batches, NULL), i == 0 ? 4 : i == 1 ? 3 : 5);
        assert_int_equal(first, 2);
        finish(&host, &batches);
    }
}

// Machines have different batches, equally many of them.
static void test_batches_are_divided_among_ranks(void **state)
{
    (void)state;
    corpus c;
    make_corpus(&c, 400, 1, 20);
    for (uint32_t ranks = 2; ranks < 6; ranks++) {
        uint32_t times[MAX_EXAMPLES] = {0}, left_out = 0, per_epoch = 0;
        for (uint32_t rank = 0; rank < ranks; rank++) {
            recording_host host;
            vkf_batches_desc desc = desc_of(&c);
            desc.rank = rank;
            desc.ranks = ranks;
            vkf_batches *batches = create(&host, &desc);
            assert_true(rank == 0 || vkf_batches_per_epoch(batches) == per_epoch);
            per_epoch = vkf_batches_per_epoch(batches);
            count_examples(&c, &desc, batches, 4 * (uint64_t)per_epoch, 5 * (uint64_t)per_epoch, times);
            finish(&host, &batches);
        }
        for (uint32_t i = 0; i < 400; i++) {
            assert_in_range(times[i], 0, 1);
            left_out += times[i] == 0;
        }
        assert_in_range(left_out, 0, (ranks - 1) * 100);
    }
}

static void test_batches_say_what_cannot_be_batched(void **state)
{
    (void)state;
    corpus c;
    recording_host host;
    vkf_batches *batches = NULL;
    make_corpus(&c, 5, 20, 20);
    vkf_batches_desc desc = desc_of(&c);
    recording_host_init(&host);
    desc.max_tokens = 19;
    assert_int_equal(vkf_batches_create(&host.host, &desc, &batches), VKF_ERROR_FORMAT);
    assert_non_null(strstr(host.text, "none of 5 examples can be taken"));
    desc.max_tokens = 60;
    desc.ranks = 3;
    assert_int_equal(vkf_batches_create(&host.host, &desc, &batches), VKF_ERROR_FORMAT);
    assert_string_equal(host.text, "5 examples make 2 batches of 60 tokens, too few for 3 machines");
    desc.ranks = 1;
    c.failure = VKF_ERROR_FILE;
    assert_int_equal(vkf_batches_create(&host.host, &desc, &batches), VKF_ERROR_FILE);
    assert_true(!batches && host.live == 0);
}

static void test_batches_notice_other_lengths(void **state)
{
    (void)state;
    corpus c;
    recording_host host;
    make_corpus(&c, 1, 5, 5);
    const vkf_batches_desc desc = desc_of(&c);
    vkf_batches *batches = create(&host, &desc);
    const vkf_batch *batch = NULL;
    c.source_counts[0] = 6;
    assert_int_equal(vkf_batches_get(batches, 0, &batch), VKF_ERROR_INTERNAL);
    c.source_counts[0] = 5;
    c.target_counts[0] = 6;
    assert_int_equal(vkf_batches_get(batches, 0, &batch), VKF_ERROR_INTERNAL);
    vkf_batches_destroy(&batches);
    assert_true(!batch && host.live == 0);
}

static void test_batches_release_all_when_memory_is_exhausted(void **state)
{
    (void)state;
    corpus c;
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    make_corpus(&c, 50, 1, 20);
    const vkf_batches_desc desc = desc_of(&c);
    for (size_t call = 1; status != VKF_OK; call++) {
        recording_host host;
        vkf_batches *batches = NULL;
        recording_host_init(&host);
        host.fail_call = call;
        status = vkf_batches_create(&host.host, &desc, &batches);
        assert_true(status == VKF_OK || (status == VKF_ERROR_OUT_OF_HOST_MEMORY && !batches && host.messages == 1));
        vkf_batches_destroy(&batches);
        assert_int_equal(host.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_have_every_example_once_an_epoch),
        cmocka_unit_test(test_batches_follow_from_numbers),
        cmocka_unit_test(test_batches_mix_what_is_equally_long),
        cmocka_unit_test(test_batches_are_those_of_fairseq),
        cmocka_unit_test(test_batches_pad_to_multiples),
        cmocka_unit_test(test_batches_leave_out_what_is_empty_or_too_long),
        cmocka_unit_test(test_batches_are_divided_among_ranks),
        cmocka_unit_test(test_batches_say_what_cannot_be_batched),
        cmocka_unit_test(test_batches_notice_other_lengths),
        cmocka_unit_test(test_batches_release_all_when_memory_is_exhausted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

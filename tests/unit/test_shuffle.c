// Orders of training: each is a permutation, told by seed, epoch and stream alone, and no element prefers a place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "train/shuffle.h"

static void expect_permutation(const vkf_shuffle *shuffle)
{
    uint8_t *seen = calloc(shuffle->count, 1);
    assert_non_null(seen);
    for (uint32_t i = 0; i < shuffle->count; i++) {
        const uint32_t value = vkf_shuffle_at(shuffle, i);
        assert_in_range(value, 0, shuffle->count - 1);
        assert_int_equal(seen[value], 0);
        seen[value] = 1;
    }
    free(seen);
}

static void test_shuffle_is_a_permutation(void **state)
{
    (void)state;
    for (uint32_t count = 1; count < 70; count++)
        for (uint32_t epoch = 0; epoch < 20; epoch++) {
            const vkf_shuffle shuffle = vkf_shuffle_make(count, 1, epoch, 0);
            expect_permutation(&shuffle);
        }
    static const uint32_t counts[] = {255, 256, 257, 1023, 1024, 1025, 4099, 65535, 65536, 65537, 1000003};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const vkf_shuffle shuffle = vkf_shuffle_make(counts[i], i, 3, 1);
        expect_permutation(&shuffle);
    }
}

// The largest count: what is too many to be looked at one by one stays within it, and no two of a few are equal.
static void test_shuffle_of_the_largest_count(void **state)
{
    (void)state;
    const vkf_shuffle shuffle = vkf_shuffle_make(UINT32_MAX, 7, 0, 0);
    for (uint32_t i = 0; i < 300; i++)
        for (uint32_t k = 0; k < i; k++)
            assert_int_not_equal(vkf_shuffle_at(&shuffle, UINT32_MAX - 1 - i * 1000),
                                 vkf_shuffle_at(&shuffle, UINT32_MAX - 1 - k * 1000));
}

static uint32_t equal_places(vkf_shuffle a, vkf_shuffle b)
{
    uint32_t equal = 0;
    for (uint32_t i = 0; i < a.count; i++)
        equal += vkf_shuffle_at(&a, i) == vkf_shuffle_at(&b, i);
    return equal;
}

// Two random permutations have one place in common on average, and ten or more in one of ten million.
static void test_shuffle_differs_by_seed_epoch_and_stream(void **state)
{
    (void)state;
    const vkf_shuffle first = vkf_shuffle_make(1000, 42, 0, 0);
    assert_int_equal(equal_places(first, vkf_shuffle_make(1000, 42, 0, 0)), 1000);
    assert_in_range(equal_places(first, vkf_shuffle_make(1000, 43, 0, 0)), 0, 9);
    assert_in_range(equal_places(first, vkf_shuffle_make(1000, 42 + (UINT64_C(1) << 32), 0, 0)), 0, 9);
    assert_in_range(equal_places(first, vkf_shuffle_make(1000, 42, 1, 0)), 0, 9);
    assert_in_range(equal_places(first, vkf_shuffle_make(1000, 42, 0, 1)), 0, 9);
}

// Checkpoints say where they were by number: these orders must never change.
static void test_shuffle_is_what_it_was(void **state)
{
    (void)state;
    static const uint32_t expected[3][10] = {
        {1, 7, 10, 9, 4, 5, 15, 14, 8, 11},
        {5, 7, 1, 8, 4, 3, 6, 2, 9, 0},
        {1083534829, 3686727177, 469102834, 3376256941, 2380211477, 485882226, 3647007761, 1871263610, 3713139470,
         4220040},
    };
    const vkf_shuffle shuffles[] = {vkf_shuffle_make(16, 9, 0, 0), vkf_shuffle_make(10, 1, 0, 0),
                                    vkf_shuffle_make(4000000000, 2, 3, 4)};
    for (size_t s = 0; s < 3; s++)
        for (uint32_t i = 0; i < 10; i++)
            assert_int_equal(vkf_shuffle_at(&shuffles[s], i), expected[s][i]);
}

// Pearson's statistic over where each element of `count` comes to stand in many epochs. With (count - 1)^2 degrees of
// freedom its mean is that and its deviation sqrt(2) (count - 1).
static double places_statistic(uint32_t count, uint32_t epochs)
{
    uint32_t *hits = calloc((size_t)count * count, sizeof *hits);
    double statistic = 0, expected = (double)epochs / count;
    assert_non_null(hits);
    for (uint32_t epoch = 0; epoch < epochs; epoch++) {
        const vkf_shuffle shuffle = vkf_shuffle_make(count, 5, epoch, 0);
        for (uint32_t i = 0; i < count; i++)
            hits[i * count + vkf_shuffle_at(&shuffle, i)]++;
    }
    for (uint32_t i = 0; i < count * count; i++)
        statistic += (hits[i] - expected) * (hits[i] - expected) / expected;
    free(hits);
    return statistic;
}

static void test_shuffle_prefers_no_place(void **state)
{
    (void)state;
    static const uint32_t counts[] = {2, 3, 5, 16, 17, 61, 64};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const double freedom = (double)(counts[i] - 1) * (counts[i] - 1);
        const double off = (places_statistic(counts[i], 20000) - freedom) / (1.4143 * (counts[i] - 1));
        if (off > 5 || off < -5)
            fail_msg("of %u elements places are off by %.1f deviations", counts[i], off);
    }
}

static void test_shuffle_divides_among_ranks(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks < 9; ranks++) {
        uint8_t seen[101] = {0};
        for (uint32_t rank = 0; rank < ranks; rank++)
            for (uint32_t i = 0; i < vkf_shuffle_share(101, ranks); i++)
                seen[vkf_shuffle_place(rank, ranks, i)]++;
        for (uint32_t i = 0; i < 101; i++)
            assert_int_equal(seen[i], i < 101 - 101 % ranks);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shuffle_is_a_permutation),
        cmocka_unit_test(test_shuffle_of_the_largest_count),
        cmocka_unit_test(test_shuffle_differs_by_seed_epoch_and_stream),
        cmocka_unit_test(test_shuffle_is_what_it_was),
        cmocka_unit_test(test_shuffle_prefers_no_place),
        cmocka_unit_test(test_shuffle_divides_among_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Offsets of temporaries from their lifetimes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "random.h"
#include "vk/arena.h"

#include "recording_host.h"

enum { MAX_ITEMS = 60, ALIGNMENT = 256 };

static uint64_t seed_of_run(void)
{
    const char *text = getenv("VKF_TEST_SEED");
    return text ? strtoull(text, NULL, 0) : 20261120;
}

static bool alive_together(const vkf__arena_item *a, const vkf__arena_item *b)
{
    return a->first_use <= b->last_use && b->first_use <= a->last_use;
}

static uint64_t align(uint64_t value)
{
    return (value + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// The most bytes alive at one step: no plan can do with less.
static uint64_t lower_bound(const vkf__arena_item *items, size_t count)
{
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < count; k++) {
            if (items[k].first_use <= items[i].first_use && items[i].first_use <= items[k].last_use)
                sum += items[k].size_bytes;
        }
        most = sum > most ? sum : most;
    }
    return most;
}

// NULL, or what is wrong with a plan.
static const char *fault_of(const vkf__arena_item *items, size_t count, uint64_t bytes)
{
    uint64_t end = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        const vkf__arena_item *a = &items[i];
        if (a->offset % ALIGNMENT != 0)
            return "an offset is not aligned";
        sum += align(a->size_bytes);
        end = a->offset + a->size_bytes > end ? a->offset + a->size_bytes : end;
        for (size_t k = 0; k < i; k++) {
            const vkf__arena_item *b = &items[k];
            if (alive_together(a, b) && a->offset < b->offset + b->size_bytes && b->offset < a->offset + a->size_bytes)
                return "two items alive at once overlap";
        }
    }
    if (bytes < end)
        return "an item ends beyond the arena";
    if (bytes > sum)
        return "the arena is larger than all items together";
    return bytes < lower_bound(items, count) ? "the arena is smaller than what is alive at once" : NULL;
}

static size_t random_items(vkf_test_random *random, vkf__arena_item *items, size_t most)
{
    size_t count = 1 + vkf_test_random_below(random, (uint32_t)most);
    for (size_t i = 0; i < count; i++) {
        uint32_t first = vkf_test_random_below(random, 40);
        items[i] = (vkf__arena_item){
            .size_bytes = vkf_test_random_below(random, 8) == 0 ? 0 : 1 + vkf_test_random_below(random, 5000),
            .first_use = first,
            .last_use = first + vkf_test_random_below(random, vkf_test_random_below(random, 4) == 0 ? 40 : 4),
        };
    }
    return count;
}

static void test_arena_plan_of_random_lifetimes(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    vkf_test_random random;
    vkf_test_random_init(&random, seed_of_run());
    for (int round = 0; round < 2000; round++) {
        vkf__arena_item items[MAX_ITEMS];
        size_t count = random_items(&random, items, MAX_ITEMS);
        uint64_t bytes = 0;
        assert_int_equal(vkf__arena_plan(&recording.host, items, count, ALIGNMENT, &bytes), VKF_OK);
        const char *fault = fault_of(items, count, bytes);
        if (fault)
            fail_msg("round %d, seed %llu: %s", round, (unsigned long long)seed_of_run(), fault);
    }
    assert_int_equal(recording.live, 0);
}

// The least bytes over all orders in which items can be put each into the lowest gap: for few items the optimum.
static uint64_t best_of_orders(vkf__arena_item *items, size_t count, size_t placed)
{
    uint64_t best = UINT64_MAX;
    if (placed == count) {
        uint64_t end = 0;
        for (size_t i = 0; i < count; i++)
            end = items[i].offset + items[i].size_bytes > end ? items[i].offset + items[i].size_bytes : end;
        return align(end);
    }
    for (size_t next = placed; next < count; next++) {
        vkf__arena_item item = items[next];
        items[next] = items[placed];
        item.offset = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (size_t i = 0; i < placed; i++) {
                if (items[i].size_bytes > 0 && alive_together(&item, &items[i]) &&
                    item.offset < items[i].offset + items[i].size_bytes &&
                    items[i].offset < item.offset + item.size_bytes) {
                    item.offset = align(items[i].offset + items[i].size_bytes);
                    moved = true;
                }
            }
        }
        items[placed] = item;
        uint64_t bytes = best_of_orders(items, count, placed + 1);
        best = bytes < best ? bytes : best;
        items[placed] = items[next];
        items[next] = item;
    }
    return best;
}

static void test_arena_plan_is_near_the_optimum_of_small_cases(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    vkf_test_random random;
    vkf_test_random_init(&random, seed_of_run() + 1);
    int optimal = 0;
    const int rounds = 300;
    for (int round = 0; round < rounds; round++) {
        vkf__arena_item items[MAX_ITEMS], copy[MAX_ITEMS];
        size_t count = random_items(&random, items, 6);
        uint64_t bytes = 0;
        memcpy(copy, items, sizeof items);
        assert_int_equal(vkf__arena_plan(&recording.host, items, count, ALIGNMENT, &bytes), VKF_OK);
        uint64_t best = best_of_orders(copy, count, 0);
        if (bytes < best || bytes > best + best / 2)
            fail_msg("round %d, seed %llu: %llu bytes, the best is %llu", round, (unsigned long long)seed_of_run(),
                     (unsigned long long)bytes, (unsigned long long)best);
        optimal += bytes == best;
    }
    assert_true(optimal > rounds * 9 / 10);
}

static void test_arena_plan_reuses_memory(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__arena_item items[] = {{1000, 0, 1, 0}, {1000, 1, 2, 0}, {1000, 2, 3, 0}, {1000, 3, 4, 0}};
    uint64_t bytes = 0;
    assert_int_equal(vkf__arena_plan(&recording.host, items, 4, ALIGNMENT, &bytes), VKF_OK);
    assert_int_equal(bytes, 2048);
    assert_int_equal(items[0].offset, items[2].offset);
    assert_int_equal(items[1].offset, items[3].offset);
    assert_int_not_equal(items[0].offset, items[1].offset);
}

static void test_arena_plan_of_unused_and_no_items(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__arena_item items[] = {{0, 0, 9, 7}, {256, 0, 9, 7}, {0, 0, 0, 7}};
    uint64_t bytes = 77;
    assert_int_equal(vkf__arena_plan(&recording.host, items, 0, ALIGNMENT, &bytes), VKF_OK);
    assert_int_equal(bytes, 0);
    assert_int_equal(vkf__arena_plan(&recording.host, items, 3, ALIGNMENT, &bytes), VKF_OK);
    assert_int_equal(bytes, 256);
    assert_int_equal(items[1].offset, 0);
}

static void test_arena_plan_is_the_same_every_time(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    vkf_test_random random;
    vkf_test_random_init(&random, seed_of_run() + 2);
    vkf__arena_item items[MAX_ITEMS], again[MAX_ITEMS];
    size_t count = random_items(&random, items, MAX_ITEMS);
    uint64_t bytes = 0, bytes_again = 0;
    memcpy(again, items, sizeof items);
    for (size_t i = 0; i < count; i++)
        again[i].offset = 12345; // out alone
    assert_int_equal(vkf__arena_plan(&recording.host, items, count, ALIGNMENT, &bytes), VKF_OK);
    assert_int_equal(vkf__arena_plan(&recording.host, again, count, ALIGNMENT, &bytes_again), VKF_OK);
    assert_int_equal(bytes, bytes_again);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(items[i].offset, again[i].offset);
}

static void test_arena_plan_overflow_is_refused(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__arena_item two[] = {{UINT64_MAX / 2 + 1000, 0, 1, 0}, {UINT64_MAX / 2 + 1000, 0, 1, 0}};
    vkf__arena_item one[] = {{UINT64_MAX - 5, 0, 1, 0}};
    uint64_t bytes = 77;
    assert_int_equal(vkf__arena_plan(&recording.host, two, 2, ALIGNMENT, &bytes), VKF_ERROR_TOO_LARGE);
    assert_int_equal(vkf__arena_plan(&recording.host, one, 1, ALIGNMENT, &bytes), VKF_ERROR_TOO_LARGE);
    assert_int_equal(bytes, 77);
    assert_int_equal(recording.live, 0);
    assert_true(recording.messages >= 2);
}

static void test_arena_plan_without_memory(void **state)
{
    (void)state;
    recording_host recording;
    recording_host_init(&recording);
    vkf__arena_item items[] = {{1000, 0, 1, 0}};
    uint64_t bytes = 77;
    recording.fail_call = 1;
    assert_int_equal(vkf__arena_plan(&recording.host, items, 1, ALIGNMENT, &bytes), VKF_ERROR_OUT_OF_HOST_MEMORY);
    assert_int_equal(bytes, 77);
}

static void test_fault_of_notices_bad_plans(void **state)
{
    (void)state;
    const vkf__arena_item overlap[] = {{300, 0, 1, 0}, {300, 1, 2, 256}};
    const vkf__arena_item crooked[] = {{300, 0, 1, 10}};
    const vkf__arena_item good[] = {{300, 0, 1, 0}, {300, 1, 2, 512}};
    assert_non_null(fault_of(overlap, 2, 1024));
    assert_non_null(fault_of(crooked, 1, 512));
    assert_null(fault_of(good, 2, 1024));
    assert_non_null(fault_of(good, 2, 1280));
    assert_non_null(fault_of(good, 2, 811));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_plan_of_random_lifetimes),
        cmocka_unit_test(test_arena_plan_is_near_the_optimum_of_small_cases),
        cmocka_unit_test(test_arena_plan_reuses_memory),
        cmocka_unit_test(test_arena_plan_of_unused_and_no_items),
        cmocka_unit_test(test_arena_plan_is_the_same_every_time),
        cmocka_unit_test(test_arena_plan_overflow_is_refused),
        cmocka_unit_test(test_arena_plan_without_memory),
        cmocka_unit_test(test_fault_of_notices_bad_plans),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}

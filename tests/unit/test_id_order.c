// Lists of tokens by id: by hand, and by their properties for random ids.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/train/id_order.h"

static void test_id_order_by_hand(void **state)
{
    (void)state;
    static const int32_t ids[] = {4, 0, 4, 7, -1, 2, 0, 4}; // 7 and -1 are outside
    uint32_t scratch[5];
    int32_t lists[25];
    assert_int_equal(vkf__id_order_length(8), 25);
    assert_int_equal(vkf__id_order(ids, 8, 5, scratch, lists), 3);
    static const int32_t order[] = {1, 6, 5, 0, 2, 7}, starts[] = {0, 2, 3, 6}, occurring[] = {0, 2, 4};
    assert_memory_equal(lists, order, sizeof order);
    assert_memory_equal(lists + vkf__id_order_starts(8), starts, sizeof starts);
    assert_memory_equal(lists + vkf__id_order_ids(8), occurring, sizeof occurring);
}

static void test_id_order_of_nothing(void **state)
{
    (void)state;
    static const int32_t outside[] = {-1, 3, INT32_MIN, INT32_MAX};
    uint32_t scratch[3];
    int32_t lists[13] = {0};
    assert_int_equal(vkf__id_order(outside, 4, 3, scratch, lists), 0);
    assert_int_equal(lists[vkf__id_order_starts(4)], 0);
    assert_int_equal(vkf__id_order(outside, 0, 3, scratch, lists), 0);
    assert_int_equal(lists[vkf__id_order_starts(0)], 0);
}

// Every token stands once among those of its id, behind those before it, and ids rise.
static void test_id_order_is_stable(void **state)
{
    (void)state;
    enum { TOKENS = 5000, VOCAB = 331 };
    int32_t *ids = malloc(TOKENS * sizeof *ids), *lists = malloc(vkf__id_order_length(TOKENS) * sizeof *lists);
    uint32_t scratch[VOCAB], random = 1, placed = 0;
    assert_non_null(ids);
    assert_non_null(lists);
    for (size_t i = 0; i < TOKENS; i++) {
        random = random * 1664525 + 1013904223;
        ids[i] = (int32_t)(random >> 16) % VOCAB;
    }
    const uint32_t unique = vkf__id_order(ids, TOKENS, VOCAB, scratch, lists);
    const int32_t *starts = lists + vkf__id_order_starts(TOKENS), *occurring = lists + vkf__id_order_ids(TOKENS);
    for (uint32_t u = 0; u < unique; u++) {
        assert_true(u == 0 || occurring[u - 1] < occurring[u]);
        assert_int_equal(starts[u], placed);
        for (; (int32_t)placed < starts[u + 1]; placed++) {
            assert_int_equal(ids[lists[placed]], occurring[u]);
            assert_true((int32_t)placed == starts[u] || lists[placed - 1] < lists[placed]);
        }
    }
    assert_int_equal(placed, TOKENS);
    free(ids);
    free(lists);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_id_order_by_hand),
        cmocka_unit_test(test_id_order_of_nothing),
        cmocka_unit_test(test_id_order_is_stable),
    };
    return cmocka_run_group_tests_name("id_order", tests, NULL, NULL);
}

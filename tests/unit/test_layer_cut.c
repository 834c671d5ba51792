// Tests where models are cut between ranks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ranks/layer_cut.h"

#define MOST 4

typedef struct cut_case {
    const char *name;
    vkf_cut_model model;
    uint32_t ranks;
    vkf_cut_rank of[MOST];
    uint32_t counts[MOST];
} cut_case;

// A decoder's layer has 10 bytes, the first part 5 more, the last one 20. An encoder's layer has 6 bytes, the part with
// its first one 3 more, and the one with its last one 1 more.
#define OWN                                                                                 \
    {                                                                                       \
        {0, 3, 4, 5, 5, 24}, {0, 0, 1, 2, 2, 21}, {0, 0, 0, 5, 5, 24}, {0, 0, 0, 1, 1, 20}, \
        {                                                                                   \
            0, 0, 0, 0, 0, 20                                                               \
        }                                                                                   \
    }
#define PAIR(e, d)                            \
    {                                         \
        {e, 6, 2.0}, {d, 10, 10.0}, OWN, 20.0 \
    }
#define MODEL(n) PAIR(0, n)
#define ROOM 1000

static const cut_case cases[] = {
    {"alone", MODEL(6), 1, {{ROOM, 1}}, {6}},
    {"what follows the layers takes the time of two", MODEL(6), 2, {{ROOM, 1}, {ROOM, 1}}, {4, 2}},
    {"one that is three times as fast", MODEL(10), 2, {{ROOM, 3}, {ROOM, 1}}, {9, 1}},
    {"one with little memory", MODEL(6), 2, {{25, 1}, {ROOM, 1}}, {2, 4}},
    {"one whose memory holds no layer", MODEL(6), 3, {{ROOM, 1}, {5, 1}, {ROOM, 1}}, {4, 0, 2}},
    {"more ranks than layers", MODEL(2), 4, {{ROOM, 1}, {ROOM, 1}, {ROOM, 1}, {ROOM, 1}}, {1, 1, 0, 0}},
    {"the encoder beside the decoder's layers", PAIR(5, 5), 2, {{ROOM, 1}, {ROOM, 1}}, {8, 2}},
    {"an encoder that takes longer than the decoder", PAIR(20, 1), 3, {{ROOM, 1}, {ROOM, 1}, {ROOM, 1}}, {10, 10, 1}},
    {"an encoder that no rank has room for", PAIR(4, 1), 3, {{15, 1}, {16, 1}, {34, 1}}, {2, 2, 1}},
    {"exactly as much memory as there is need", MODEL(4), 2, {{25, 1}, {40, 1}}, {2, 2}},
};

static void test_layer_cut(void **state)
{
    const cut_case *c = *state;
    vkf_cut_part parts[MOST];
    uint32_t first = 0;
    assert_true(vkf_cut_layers(&c->model, c->of, c->ranks, parts));
    for (uint32_t i = 0; i < c->ranks; i++) {
        assert_int_equal(parts[i].count, c->counts[i]);
        assert_int_equal(parts[i].first, first);
        assert_true(parts[i].bytes <= c->of[i].memory_bytes);
        first += parts[i].count;
    }
    assert_int_equal(first, vkf_cut_layer_count(&c->model));
}

static void test_layer_cut_counts_bytes(void **state)
{
    const vkf_cut_model model = MODEL(6);
    const vkf_cut_rank ranks[] = {{ROOM, 1}, {ROOM, 1}, {ROOM, 1}};
    vkf_cut_part parts[3];
    (void)state;
    assert_true(vkf_cut_layers(&model, ranks, 3, parts));
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(parts[i].bytes, parts[i].count * 10 + (i == 0 ? 5u : i == 1 ? 1u : 20u));
    assert_true(vkf_cut_layers(&model, ranks, 1, parts));
    assert_int_equal(parts[0].bytes, 84);
}

static void test_layer_cut_that_does_not_fit(void **state)
{
    const vkf_cut_model model = MODEL(4);
    const vkf_cut_rank ranks[] = {{25, 1}, {39, 1}}, small_first[] = {{14, 1}, {ROOM, 1}};
    vkf_cut_part parts[2];
    (void)state;
    assert_false(vkf_cut_layers(&model, ranks, 2, parts));
    assert_false(vkf_cut_layers(&model, small_first, 2, parts));
}

int main(void)
{
    struct CMUnitTest tests[sizeof cases / sizeof cases[0] + 2];
    memset(tests, 0, sizeof tests);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, test_layer_cut, NULL, NULL, (void *)&cases[i]};
    tests[sizeof cases / sizeof cases[0]] = (struct CMUnitTest)cmocka_unit_test(test_layer_cut_counts_bytes);
    tests[sizeof cases / sizeof cases[0] + 1] = (struct CMUnitTest)cmocka_unit_test(test_layer_cut_that_does_not_fit);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

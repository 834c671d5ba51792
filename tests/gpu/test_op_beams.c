// What beam search is made of: the most probable tokens of rows, and rows of a cache that change places.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/reorder.h"
#include "op/run_once.h"
#include "op/top.h"
#include "reference/reference.h"
#include "support/compare.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

static const uint32_t COLS[] = {1, 2, 31, 32, 33, 1000, 50257, 151936};

static vkf_status emit_top(vkf__work *work, const void *args)
{
    return vkf__emit_top(work, args);
}

typedef struct top_case {
    vkf_test_operand *x, *seen, *out;
    vkf__top_args args;
    float *expected; // (rows, k, 2)
} top_case;

static top_case make_top(vkf_test_ops *ops, uint32_t rows, uint32_t cols, uint32_t k, float penalty)
{
    top_case t = {
        .x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 2, SHAPE(rows, cols)),
        .seen = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(rows, (cols + 31) / 32)),
        .out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(rows, k, 2)),
    };
    for (size_t i = 0; i < t.seen->count; i++)
        t.seen->ids[i] = (int32_t)(0x9e3779b9u * (uint32_t)(i + 1));
    vkf_test_upload(ops, t.seen);
    t.args = (vkf__top_args){
        .label = "top",
        .x = SPAN(t.x),
        .seen = SPAN(t.seen),
        .out = SPAN(t.out),
        .rows = rows,
        .cols = cols,
        .k = k,
        .repetition_penalty = penalty,
    };
    return t;
}

static void expect_top(top_case *t)
{
    const vkf__top_args *args = &t->args;
    size_t words = (args->cols + 31) / 32;
    t->expected = vkf_test_floats(t->out->count);
    for (uint32_t row = 0; row < args->rows; row++)
        vkf__ref_top(args->cols, t->x->values + (size_t)row * args->cols, (const uint32_t *)t->seen->ids + row * words,
                     args->repetition_penalty, args->k, t->expected + (size_t)row * args->k * 2);
}

// Mismatches in ids, or in log-probabilities beyond what float32 sums of exponentials are off by.
static size_t mismatches(vkf_test_ops *ops, const top_case *t, const vkf__top_args *args)
{
    size_t count = 0;
    for (size_t i = 0; i < t->out->count; i++)
        t->out->values[i] = VKF_TEST_UNTOUCHED;
    vkf_test_upload(ops, t->out);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "top", emit_top, args), "top");
    vkf_test_download(ops, t->out);
    for (size_t i = 0; i < t->out->count; i++) {
        float got = t->out->values[i], expected = t->expected[i];
        bool same = got == expected || (isnan(got) && isnan(expected)) ||
                    (i % 2 == 1 && fabsf(got - expected) <= 2e-5f * fmaxf(1, fabsf(expected)));
        count += !same;
    }
    return count;
}

static void check_top(vkf_test_ops *ops, top_case *t, const char *what)
{
    expect_top(t);
    size_t wrong = mismatches(ops, t, &t->args);
    if (wrong > 0)
        fail_msg("%s: %zu of %zu values of the first %u of %u columns are wrong", what, wrong, t->out->count, t->args.k,
                 t->args.cols);
    free(t->expected);
    vkf_test_ops_reset(ops);
}

static void test_top_is_the_reference(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t ks[] = {1, 6, 40};
    for (size_t i = 0; i < COUNT_OF(COLS); i++)
        for (size_t j = 0; j < COUNT_OF(ks); j++)
            for (int way = 0; way < 2; way++) {
                top_case t = make_top(ops, COLS[i] > 1000 ? 3 : 7, COLS[i], ks[j] < COLS[i] ? ks[j] : COLS[i],
                                      way == 0 ? 1 : 1.5f);
                check_top(ops, &t, way == 0 ? "no penalty" : "penalty");
            }
}

// Everything of a row, and equals: the lowest id first. Many of the best stand in one invocation's columns.
static void test_top_of_equals(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    top_case all = make_top(ops, 2, 97, 97, 1);
    check_top(ops, &all, "all");
    top_case t = make_top(ops, 2, 5000, 30, 1);
    for (size_t i = 0; i < t.x->count; i++)
        t.x->values[i] = i % 5000 % 256 == 7 ? 4 : (float)(i % 3);
    vkf_test_upload(ops, t.x);
    check_top(ops, &t, "equals");
}

static void test_top_of_what_is_not_finite(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float rows[5][4] = {{1, -INFINITY, 2, -INFINITY},
                              {-INFINITY, 3, -INFINITY, -INFINITY},
                              {1, NAN, 2, 3}, // all NaN then
                              {1, 2, INFINITY, 3},
                              {-INFINITY, -INFINITY, -INFINITY, -INFINITY}};
    top_case t = make_top(ops, 5, 4, 4, 1);
    memcpy(t.x->values, rows, sizeof rows);
    vkf_test_upload(ops, t.x);
    check_top(ops, &t, "not finite");
}

static void test_top_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const vkf_test_plant plants[] = {
        VKF_PLANT(vkf__top_args, rows, 3),
        VKF_PLANT(vkf__top_args, cols, 90),
        VKF_PLANT(vkf__top_args, k, 5),
        VKF_PLANT(vkf__top_args, repetition_penalty, VKF_TEST_HALF_BITS),
    };
    top_case t = make_top(ops, 4, 100, 6, 1.5f);
    expect_top(&t);
    assert_int_equal(mismatches(ops, &t, &t.args), 0);
    for (size_t i = 0; i < COUNT_OF(plants); i++) {
        vkf__top_args args = t.args;
        vkf_test_plant_into(&plants[i], (unsigned char *)&args);
        if (mismatches(ops, &t, &args) == 0)
            fail_msg("a wrong %s was not noticed", plants[i].field);
    }
    vkf__top_args blind = t.args;
    blind.seen = (vkf__span){0};
    assert_true(mismatches(ops, &t, &blind) > 0);
    free(t.expected);
}

static void test_top_of_no_rows_and_of_too_many_columns(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    top_case t = make_top(ops, 2, 8, 2, 1);
    t.args.rows = 0;
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "top", emit_top, &t.args), "no rows");
    vkf_test_assert_untouched(ops, t.out);
    t.args.rows = 2;
    t.args.cols = (1u << 24) + 1;
    vkf_test_assert_refused(ops, vkf__run_once(ops->gpu.context, "top", emit_top, &t.args), VKF_ERROR_TOO_LARGE,
                            "2^24 + 1 columns");
    vkf_test_assert_untouched(ops, t.out);
}

// ---- rows that change places

enum { ROWS = 12, WORDS = 1000, FIRST = 17, MOVED = 900 };

static vkf_status emit_reorder(vkf__work *work, const void *args)
{
    return vkf__emit_reorder(work, args);
}

static int32_t word_of(uint32_t row, uint32_t i)
{
    return (int32_t)(0x9e3779b9u * (row * WORDS + i + 1));
}

static size_t misplaced(vkf_test_ops *ops, vkf_test_operand *x, const uint32_t *sources, const vkf__reorder_args *args)
{
    size_t count = 0;
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t i = 0; i < WORDS; i++)
            x->ids[row * WORDS + i] = word_of(row, i);
    vkf_test_upload(ops, x);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "reorder", emit_reorder, args), "reorder");
    vkf_test_download(ops, x);
    for (uint32_t row = 0; row < ROWS; row++)
        for (uint32_t i = 0; i < WORDS; i++) {
            bool moved = i >= FIRST && i < FIRST + MOVED;
            count += x->ids[row * WORDS + i] != word_of(moved ? sources[row] : row, i);
        }
    return count;
}

static vkf__reorder_args make_reorder(vkf_test_ops *ops, const uint32_t *sources, vkf_test_operand **out_x)
{
    int32_t moves[3 * ROWS] = {0};
    uint32_t readers[ROWS], count = vkf__reorder_moves(sources, ROWS, readers, moves);
    vkf_test_operand *of = vkf_test_ids(ops, moves, SHAPE(3 * ROWS));
    *out_x = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(ROWS, WORDS));
    return (vkf__reorder_args){
        .label = "reorder",
        .x = SPAN(*out_x),
        .moves = SPAN(of),
        .row_words = WORDS,
        .first = FIRST,
        .count = MOVED,
        .move_count = count,
    };
}

static void test_reorder_gives_every_row_its_source(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t cases[][ROWS] = {
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, // nothing moves
        {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3},   // prompts to their beams
        {11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, // one circle
        {1, 0, 3, 2, 2, 5, 5, 5, 9, 10, 8, 8},  // circles with others behind them
        {7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        vkf_test_operand *x = NULL;
        const vkf__reorder_args args = make_reorder(ops, cases[i], &x);
        size_t wrong = misplaced(ops, x, cases[i], &args);
        if (wrong > 0)
            fail_msg("case %zu: %zu words are wrong", i, wrong);
        vkf_test_ops_reset(ops);
    }
}

static void test_reorder_mutations_are_noticed(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t sources[ROWS] = {1, 0, 3, 2, 2, 5, 5, 5, 9, 10, 8, 8};
    static const vkf_test_plant plants[] = {
        VKF_PLANT(vkf__reorder_args, row_words, WORDS - 1), VKF_PLANT(vkf__reorder_args, first, FIRST - 1),
        VKF_PLANT(vkf__reorder_args, count, MOVED - 1),     VKF_PLANT(vkf__reorder_args, count, 0),
        VKF_PLANT(vkf__reorder_args, move_count, 1),
    };
    vkf_test_operand *x = NULL;
    const vkf__reorder_args right = make_reorder(ops, sources, &x);
    assert_int_equal(misplaced(ops, x, sources, &right), 0);
    for (size_t i = 0; i < COUNT_OF(plants); i++) {
        vkf__reorder_args args = right;
        vkf_test_plant_into(&plants[i], (unsigned char *)&args);
        if (misplaced(ops, x, sources, &args) == 0)
            fail_msg("a wrong %s was not noticed", plants[i].field);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_top_is_the_reference),
        VKF_OPS_TEST(test_top_of_equals),
        VKF_OPS_TEST(test_top_of_what_is_not_finite),
        VKF_OPS_TEST(test_top_mutations_are_noticed),
        VKF_OPS_TEST(test_top_of_no_rows_and_of_too_many_columns),
        VKF_OPS_TEST(test_reorder_gives_every_row_its_source),
        VKF_OPS_TEST(test_reorder_mutations_are_noticed),
    };
    return cmocka_run_group_tests_name("op_beams", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

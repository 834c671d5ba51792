// Rows of a cache that change places, as beam search asks for it.

#include "op/operators.h"
#include "op/reorder.h"
#include "op/run_once.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

enum { ROWS = 12, WORDS = 1000, FIRST = 17, MOVED = 900 };

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
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "reorder", vkf__operator(VKF_OP_REORDER)->emit, args),
                       "reorder");
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

int main(void)
{
    const struct CMUnitTest tests[] = {VKF_OPS_TEST(test_reorder_gives_every_row_its_source)};
    return cmocka_run_group_tests_name("op_beams", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

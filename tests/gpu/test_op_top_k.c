// Top-k: which tokens may come, counted on the host, wherever the row ends against the workgroup's steps and whatever
// place the row's last token has among the most probable ones.
#include <stdlib.h>
#include <string.h>

#include "op/operators.h"
#include "op/run_once.h"
#include "op/sample.h"
#include "support/op_fixture.h"
#include "support/random.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

// Around the workgroups of 64, 128 and 256, and their steps of 4 columns to an invocation; primes; real vocabularies.
static const uint32_t COLS[] = {1,   2,   3,   13,  63,  64,   65,   101,  127,  128,  129,  255,   256,
                                257, 511, 512, 513, 767, 1023, 1024, 1025, 4095, 4096, 4097, 32000, 50257};
static const uint32_t KEPT[] = {1, 2, 3, 10, 40, 64, 65, 128, 129, 256, 257};

#define MOST_ROWS 96

typedef struct top_k_case {
    vkf_test_operand *x, *out;
    uint32_t rows, cols, k;
    uint32_t step;
} top_k_case;

// So high a temperature that all tokens that stay are as probable as each other, within a part in a thousand.
static void sample(vkf_test_ops *ops, const top_k_case *c)
{
    const vkf__sample_args args = {
        .label = "sample",
        .x = SPAN(c->x),
        .out = SPAN(c->out),
        .rows = c->rows,
        .cols = c->cols,
        .out_stride = 1,
        .temperature = 1000,
        .top_k = c->k,
        .top_p = 1,
        .repetition_penalty = 1,
        .seed = 20261123,
        .step = c->step,
    };
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "sample", vkf__operator(VKF_OP_SAMPLE)->emit, &args),
                       "sample");
    vkf_test_download(ops, c->out);
}

static const float *row_of(const top_k_case *c, uint32_t row)
{
    return c->x->values + (size_t)row * c->cols;
}

// Fewer than k logits are larger.
static bool stays(const top_k_case *c, uint32_t row, int32_t token)
{
    const float *x = row_of(c, row);
    uint32_t larger = 0;
    if (token < 0 || (uint32_t)token >= c->cols)
        return false;
    for (uint32_t col = 0; col < c->cols; col++)
        larger += x[col] > x[token];
    return larger < c->k;
}

static void check_rows(vkf_test_ops *ops, const top_k_case *c, const char *what)
{
    for (uint32_t row = 0; row < c->rows; row++)
        if (!stays(c, row, c->out->ids[row]))
            fail_msg("%s",
                     vkf_test_label(&ops->gpu, "%s: %u columns, top-k %u, row %u, step %u: token %d is not among them",
                                    what, c->cols, c->k, row, c->step, c->out->ids[row]));
}

static uint32_t distinct_tokens(const top_k_case *c, uint8_t *seen)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < c->rows; row++) {
        uint8_t *mark = &seen[c->out->ids[row]];
        count += *mark == 0;
        *mark = 1;
    }
    return count;
}

static top_k_case make(vkf_test_ops *ops, uint32_t rows, uint32_t cols, uint32_t k)
{
    top_k_case c = {.rows = rows, .cols = cols, .k = k};
    c.x = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(rows, cols));
    c.out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(rows));
    return c;
}

// All logits of a row are different; the last token has place `rank` among them, the others come as they are drawn.
static void fill_row(top_k_case *c, uint32_t row, uint32_t rank, vkf_test_random *random, uint32_t *order)
{
    const uint32_t last = c->cols - 1, place = rank < c->cols ? rank - 1 : last;
    float *x = c->x->values + (size_t)row * c->cols;
    for (uint32_t i = 0; i < last; i++)
        order[i] = i;
    for (uint32_t i = last; i > 1; i--) {
        uint32_t other = vkf_test_random_below(random, i), token = order[i - 1];
        order[i - 1] = order[other];
        order[other] = token;
    }
    for (uint32_t i = 0; i < last; i++)
        x[order[i]] = 1.0f - (float)(i + (i >= place)) * 0x1p-16f;
    x[last] = 1.0f - (float)place * 0x1p-16f;
}

// Ranks 1 .. k + 2 of the last token; of a long top-k those around its ends.
static uint32_t list_ranks(uint32_t k, uint32_t *out_ranks)
{
    uint32_t count = 0;
    for (uint32_t rank = 1; rank <= k + 2; rank++)
        if (k <= 40 || rank <= 2 || rank + 1 >= k)
            out_ranks[count++] = rank;
    return count;
}

static void check_ranks(vkf_test_ops *ops, uint32_t cols, uint32_t k, vkf_test_random *random)
{
    uint32_t ranks[MOST_ROWS], count = list_ranks(k, ranks), rows = count < 24 ? 24 : count;
    uint32_t *order = calloc(cols, sizeof *order);
    top_k_case c = make(ops, rows, cols, k);
    assert_non_null(order);
    for (uint32_t row = 0; row < rows; row++)
        fill_row(&c, row, ranks[row % count], random, order);
    vkf_test_upload(ops, c.x);
    sample(ops, &c);
    check_rows(ops, &c, "the last token at every rank");
    free(order);
    vkf_test_ops_reset(ops);
}

static void test_top_k_with_the_last_token_at_every_rank(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_random random;
    vkf_test_random_init(&random, 1);
    for (size_t i = 0; i < COUNT_OF(COLS); i++)
        for (size_t j = 0; j < COUNT_OF(KEPT); j++)
            if (KEPT[j] == 10 || (KEPT[j] <= 40 ? COLS[i] <= 4097 : COLS[i] <= 1025 && COLS[i] % 2 == 1))
                check_ranks(ops, COLS[i], KEPT[j], &random);
}

// Every token that stays comes: of 16 draws for each token one is missed once in 10^5 runs.
static void check_coverage(vkf_test_ops *ops, uint32_t cols, uint32_t k, uint32_t rank, vkf_test_random *random)
{
    const uint32_t expected = k < cols ? k : cols, steps = (16 * expected + MOST_ROWS - 1) / MOST_ROWS;
    uint32_t *order = calloc(cols, sizeof *order), distinct = 0;
    uint8_t *seen = calloc(cols, 1);
    top_k_case c = make(ops, MOST_ROWS, cols, k);
    assert_non_null(order);
    assert_non_null(seen);
    fill_row(&c, 0, rank, random, order);
    for (uint32_t row = 1; row < c.rows; row++)
        memcpy(c.x->values + (size_t)row * cols, c.x->values, cols * sizeof(float));
    vkf_test_upload(ops, c.x);
    for (c.step = 0; c.step < steps; c.step++) {
        sample(ops, &c);
        check_rows(ops, &c, "all that stay");
        distinct += distinct_tokens(&c, seen);
    }
    if (distinct != expected)
        fail_msg("%u columns, top-k %u, the last token at rank %u: %u tokens came, not %u", cols, k, rank, distinct,
                 expected);
    free(order);
    free(seen);
    vkf_test_ops_reset(ops);
}

static void test_top_k_draws_all_of_it(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const uint32_t lengths[] = {3, 101, 1025, 4097};
    vkf_test_random random;
    vkf_test_random_init(&random, 2);
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (size_t j = 0; j < COUNT_OF(KEPT); j++)
            for (uint32_t rank = KEPT[j] > 1 ? KEPT[j] - 1 : 1; rank < KEPT[j] + 2; rank++)
                if (lengths[i] == 101 || KEPT[j] == (lengths[i] < 101 ? 2 : lengths[i] == 1025 ? 128 : 10))
                    check_coverage(ops, lengths[i], KEPT[j], rank, &random);
}

// The last token equals others at the k-th place, which stay all of them, or at the place behind it, where none does.
static void check_ties(vkf_test_ops *ops, uint32_t cols, bool within)
{
    enum { TIED = 4 };
    const uint32_t larger = 3, k = within ? larger + 1 : larger, expected = within ? larger + TIED : larger;
    top_k_case c = make(ops, MOST_ROWS, cols, k);
    uint8_t *seen = calloc(cols, 1);
    assert_non_null(seen);
    for (uint32_t row = 0; row < c.rows; row++) {
        float *x = c.x->values + (size_t)row * cols;
        for (uint32_t i = 0; i < larger; i++)
            x[cols / 2 + i] = 2.0f + (float)i;
        for (uint32_t i = 0; i + 1 < TIED; i++)
            x[i * 2] = 1;
        x[cols - 1] = 1;
    }
    vkf_test_upload(ops, c.x);
    sample(ops, &c);
    check_rows(ops, &c, within ? "ties within" : "ties behind");
    assert_int_equal(distinct_tokens(&c, seen), expected);
    free(seen);
    vkf_test_ops_reset(ops);
}

static void test_top_k_with_the_last_token_among_equals(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(COLS); i++)
        for (int within = 0; within < 2; within++)
            if (COLS[i] >= 13)
                check_ties(ops, COLS[i], within);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_top_k_with_the_last_token_at_every_rank),
        VKF_OPS_TEST(test_top_k_draws_all_of_it),
        VKF_OPS_TEST(test_top_k_with_the_last_token_among_equals),
    };
    return cmocka_run_group_tests_name("op_top_k", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

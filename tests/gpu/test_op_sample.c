// Sampling from logits: how often each token comes, that the draw is the seed's alone, and tokens that are
// known without a reference.
#include <math.h>
#include <string.h>

#include "op/operators.h"
#include "op/run_once.h"
#include "op/sample.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define SEED UINT64_C(0x1234567890abcdef)

static const uint32_t COLS[] = {1, 2, 31, 32, 33, 1000, 50257, 151936};

typedef struct sampling {
    vkf_test_operand *x, *out;
    vkf__sample_args args;
} sampling;

// Normal logits of a deviation of 2, thresholds off.
static sampling make(vkf_test_ops *ops, uint32_t rows, uint32_t cols)
{
    sampling s = {
        .x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 2, SHAPE(rows, cols)),
        .out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(rows)),
    };
    s.args = (vkf__sample_args){
        .label = "sample",
        .x = SPAN(s.x),
        .out = SPAN(s.out),
        .rows = rows,
        .cols = cols,
        .out_stride = 1,
        .temperature = 1,
        .top_p = 1,
        .repetition_penalty = 1,
        .seed = SEED,
    };
    return s;
}

static void sample(vkf_test_ops *ops, const sampling *s)
{
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "sample", vkf__operator(VKF_OP_SAMPLE)->emit, &s->args),
                       "sample");
    vkf_test_download(ops, s->out);
    for (uint32_t row = 0; row < s->args.rows; row++)
        assert_in_range(s->out->ids[row * s->args.out_stride + s->args.out_first], 0, s->args.cols - 1);
}

static int32_t token_of(const sampling *s, uint32_t row)
{
    return s->out->ids[row * s->args.out_stride + s->args.out_first];
}

static uint32_t distinct_tokens(const sampling *s, uint8_t *seen)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < s->args.rows; row++) {
        uint8_t *mark = &seen[token_of(s, row)];
        count += *mark == 0;
        *mark = 1;
    }
    return count;
}

// Pearson's chi-square of the counts under the probabilities.
static double chi_square(const uint32_t *counts, const double *probabilities, uint32_t cols, uint32_t draws)
{
    double sum = 0;
    for (uint32_t i = 0; i < cols; i++) {
        double expected = probabilities[i] * draws;
        sum += expected > 0 ? (counts[i] - expected) * (counts[i] - expected) / expected : 0;
    }
    return sum;
}

// 32,768 draws among 24 tokens. With 23 degrees of freedom chi-square is above 80 once in 10^8 times. The same counts
// do not pass for those of another temperature.
static void test_sample_frequencies(void **state)
{
    enum { ROWS = 8192, TOKENS = 24, STEPS = 4 };
    vkf_test_ops *ops = vkf_test_ops_of(state);
    uint32_t counts[TOKENS] = {0};
    double probabilities[TOKENS], others[TOKENS], sum = 0, other_sum = 0;
    sampling s = make(ops, ROWS, TOKENS);
    for (size_t i = 0; i < s.x->count; i++)
        s.x->values[i] = (float)(i % TOKENS * 7 % TOKENS) / 12;
    vkf_test_upload(ops, s.x);
    for (s.args.step = 10; s.args.step < 10 + STEPS; s.args.step++) {
        sample(ops, &s);
        for (uint32_t row = 0; row < ROWS; row++)
            counts[token_of(&s, row)]++;
    }
    for (size_t i = 0; i < TOKENS; i++) {
        sum += probabilities[i] = exp((double)s.x->values[i]);
        other_sum += others[i] = exp((double)s.x->values[i] / 1.1);
    }
    for (size_t i = 0; i < TOKENS; i++) {
        probabilities[i] /= sum;
        others[i] /= other_sum;
    }
    double right = chi_square(counts, probabilities, TOKENS, ROWS * STEPS);
    double wrong = chi_square(counts, others, TOKENS, ROWS * STEPS);
    if (!(right < 80))
        fail_msg("chi-square is %g", right);
    if (!(wrong > 80))
        fail_msg("chi-square under another temperature is %g, too", wrong);
}

// All tokens alike: a thousand of them, so that two draws agree rarely.
static void test_sample_is_a_function_of_the_seed_and_the_step(void **state)
{
    enum { ROWS = 100, TOKENS = 1000 };
    vkf_test_ops *ops = vkf_test_ops_of(state);
    int32_t first[ROWS];
    const uint64_t seeds[] = {SEED, SEED, SEED + 1, SEED + (UINT64_C(1) << 32), SEED};
    const uint32_t steps[] = {3, 3, 3, 3, 4};
    sampling s = make(ops, ROWS, TOKENS);
    memset(s.x->values, 0, s.x->count * sizeof(float));
    vkf_test_upload(ops, s.x);
    for (size_t i = 0; i < COUNT_OF(seeds); i++) {
        uint32_t same = 0;
        s.args.seed = seeds[i];
        s.args.step = steps[i];
        sample(ops, &s);
        if (i == 0)
            memcpy(first, s.out->ids, sizeof first);
        for (uint32_t row = 0; row < ROWS; row++)
            same += first[row] == token_of(&s, row);
        if (i < 2 ? same != ROWS : same > 5)
            fail_msg("seed %zu: %u tokens of %d are the same", i, same, ROWS);
    }
    // Rows of one draw differ from each other as well.
    uint8_t seen[TOKENS] = {0};
    assert_in_range(distinct_tokens(&s, seen), ROWS - 20, ROWS);
}

static void check_largest(vkf_test_ops *ops, sampling *s, const char *what)
{
    sample(ops, s);
    for (uint32_t row = 0; row < s->args.rows; row++) {
        const float *x = s->x->values + (size_t)row * s->args.cols;
        int32_t expected = 0;
        for (uint32_t col = 0; col < s->args.cols; col++)
            expected = x[col] > x[expected] ? (int32_t)col : expected;
        if (token_of(s, row) != expected)
            fail_msg("%s of %u columns: row %u gives %d, not %d", what, s->args.cols, row, token_of(s, row), expected);
    }
    vkf_test_ops_reset(ops);
}

// Temperature 0, one token, a probability that the first token reaches, and the largest alone.
static void test_sample_of_the_largest(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(COLS); i++)
        for (int way = 0; way < 4; way++) {
            sampling s = make(ops, 5, COLS[i]);
            s.args.temperature = way == 0 ? 0 : 1;
            s.args.top_k = way == 1;
            s.args.top_p = way == 2 ? 1e-6f : 1;
            s.args.min_p = way == 3;
            check_largest(ops, &s, way == 0 ? "temperature 0" : way == 1 ? "top-k 1" : way == 2 ? "top-p" : "min-p 1");
        }
}

// The lowest of equals.
static void test_sample_of_equals(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float rows[][4] = {
        {1, 3, 3, 2},
        {-0.0f, 0, -1, 0},
    };
    sampling s = make(ops, 2, 4);
    memcpy(s.x->values, rows, sizeof rows);
    vkf_test_upload(ops, s.x);
    s.args.temperature = 0;
    check_largest(ops, &s, "equals");
}

// Masked tokens never come, even where top-k asks for more than there are others.
static void test_sample_leaves_masked_tokens(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    sampling s = make(ops, 200, 40);
    for (size_t i = 0; i < s.x->count; i++)
        if (i % 40 != 7 && i % 40 != 21)
            s.x->values[i] = -INFINITY;
    vkf_test_upload(ops, s.x);
    s.args.top_k = 10;
    sample(ops, &s);
    for (uint32_t row = 0; row < s.args.rows; row++)
        assert_true(token_of(&s, row) == 7 || token_of(&s, row) == 21);
}

// Equal logits at the k-th place stay all of them.
static void test_sample_keeps_ties(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int way = 0; way < 2; way++) {
        sampling s = make(ops, 300, 33);
        uint8_t seen[33] = {0};
        for (size_t i = 0; i < s.x->count; i++)
            s.x->values[i] = i % 33 == 5 ? 1.5f : i % 33 % 2 == 0 ? 1 : 0;
        vkf_test_upload(ops, s.x);
        s.args.top_k = way == 0 ? 3 : 0;
        s.args.top_p = way == 1 ? 0.2f : 1; // the first token has 0.06
        sample(ops, &s);
        assert_int_equal(distinct_tokens(&s, seen), 18);
        for (uint32_t i = 0; i < 33; i++)
            assert_int_equal(seen[i], i == 5 || i % 2 == 0);
        vkf_test_ops_reset(ops);
    }
}

// By hand: logits above and below 0, and the penalty's two ways.
static void test_sample_penalty_by_hand(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float x[] = {2, 3, 1.75f, -1, /* 3 / 2 is below 2 */ -1, -1.5f, -4, -3 /* -1 * 2 is below -1.5 */};
    sampling s = make(ops, 2, 4);
    memcpy(s.x->values, x, sizeof x);
    vkf_test_upload(ops, s.x);
    s.args.seen = SPAN(vkf_test_ids(ops, (const int32_t[]){1 << 1, 1 << 0}, SHAPE(2, 1)));
    s.args.temperature = 0;
    s.args.repetition_penalty = 2;
    sample(ops, &s);
    assert_int_equal(token_of(&s, 0), 0);
    assert_int_equal(token_of(&s, 1), 1);
    // Both are seen now: 1.75 is the largest there, and -2 is above -3 here.
    sample(ops, &s);
    assert_int_equal(token_of(&s, 0), 2);
    assert_int_equal(token_of(&s, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_sample_frequencies),
        VKF_OPS_TEST(test_sample_is_a_function_of_the_seed_and_the_step),
        VKF_OPS_TEST(test_sample_of_the_largest),
        VKF_OPS_TEST(test_sample_of_equals),
        VKF_OPS_TEST(test_sample_leaves_masked_tokens),
        VKF_OPS_TEST(test_sample_keeps_ties),
        VKF_OPS_TEST(test_sample_penalty_by_hand),
    };
    return cmocka_run_group_tests_name("op_sample", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

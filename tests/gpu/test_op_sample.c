// Sampling from logits: exactly which tokens may come, how often each does, and that the draw is the seed's alone.
//
// Thresholds lie in the middle between two tokens, where no rounding decides. A drawn token must be the reference's
// unless the draw lies within MARGIN of its borders: sums of up to 151,936 probabilities, each a multiple of 2^-30, and
// of float32 weights with the driver's exp, are within some 1e-5.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/argmax.h"
#include "op/run_once.h"
#include "op/sample.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define MARGIN 5e-5
#define SEED UINT64_C(0x1234567890abcdef)

static const uint32_t COLS[] = {1, 2, 31, 32, 33, 1000, 50257, 151936};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_sample(work, args);
}

static uint32_t words_of(uint32_t cols)
{
    return (cols + 31) / 32;
}

typedef struct sampling {
    vkf_test_operand *x, *seen, *out;
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
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "sample", emit, &s->args), "sample");
    vkf_test_download(ops, s->out);
    for (uint32_t row = 0; row < s->args.rows; row++)
        assert_in_range(s->out->ids[row * s->args.out_stride + s->args.out_first], 0, s->args.cols - 1);
}

static int32_t token_of(const sampling *s, uint32_t row)
{
    return s->out->ids[row * s->args.out_stride + s->args.out_first];
}

static vkf__ref_sample_desc row_of(const sampling *s, uint32_t row)
{
    return (vkf__ref_sample_desc){
        .cols = s->args.cols,
        .x = s->x->values + (size_t)row * s->args.cols,
        .seen = s->seen ? (const uint32_t *)s->seen->ids + (size_t)row * words_of(s->args.cols) : NULL,
        .temperature = s->args.temperature,
        .top_k = s->args.top_k,
        .top_p = s->args.top_p,
        .min_p = s->args.min_p,
        .repetition_penalty = s->args.repetition_penalty,
        .seed = s->args.seed,
        .step = s->args.step,
    };
}

static double *doubles(size_t count)
{
    double *values = calloc(count, sizeof *values);
    assert_non_null(values);
    return values;
}

// Tokens must be among those that stay, and the reference's own where the draw is not near a border. Gives how many
// were.
static uint32_t check_tokens(vkf_test_ops *ops, const sampling *s, const char *what)
{
    double *probabilities = doubles(s->args.cols), *sorted = doubles(s->args.cols), margin = 0;
    uint32_t compared = 0;
    for (uint32_t row = 0; row < s->args.rows; row++) {
        const vkf__ref_sample_desc desc = row_of(s, row);
        uint32_t expected = vkf__ref_sample(&desc, row, probabilities, sorted, &margin);
        uint32_t token = (uint32_t)token_of(s, row);
        const char *label =
            vkf_test_label(&ops->gpu, "%s, %u columns, row %u, step %u", what, desc.cols, row, desc.step);
        if (!(probabilities[token] > 0))
            fail_msg("%s: token %u, which should not stay", label, token);
        if (margin > MARGIN && token != expected)
            fail_msg("%s: token %u instead of %u, %g from a border", label, token, expected, margin);
        compared += margin > MARGIN;
    }
    free(probabilities);
    free(sorted);
    return compared;
}

// Sets the thresholds between the `keep`-th most probable token and the next one, of the first row; all rows are the
// same.
static void set_thresholds(sampling *s, uint32_t keep, bool k, bool p, bool min)
{
    double *probabilities = doubles(s->args.cols), *sorted = doubles(s->args.cols), sum = 0;
    const uint32_t cols = s->args.cols;
    keep = keep < cols ? keep : cols;
    for (uint32_t row = 1; row < s->args.rows; row++)
        memcpy(s->x->values + (size_t)row * cols, s->x->values, cols * sizeof(float));
    const vkf__ref_sample_desc desc = row_of(s, 0);
    vkf__ref_sample_probabilities(&desc, probabilities, sorted);
    // Descending, one after the other.
    for (uint32_t i = 0; i < keep; i++) {
        uint32_t best = 0;
        for (uint32_t c = 1; c < cols; c++)
            best = probabilities[c] > probabilities[best] ? c : best;
        sorted[i] = probabilities[best];
        probabilities[best] = -1;
    }
    double next = 0;
    for (uint32_t c = 0; c < cols; c++)
        next = fmax(next, probabilities[c]);
    s->args.top_k = k ? keep : 0;
    s->args.min_p = min ? (float)((sorted[keep - 1] + next) / 2 / sorted[0]) : 0;
    // With top-k before it top-p is of what that leaves; one token more there than here.
    for (uint32_t i = 0; i < keep; i++)
        sum += sorted[i];
    s->args.top_p = !p ? 1 : (float)((sum - sorted[keep - 1] / 2) / (k ? sum : 1));
    free(probabilities);
    free(sorted);
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

// Every combination of the thresholds keeps a handful of tokens, all of which come in enough draws.
static void check_support(vkf_test_ops *ops, uint32_t cols, int which)
{
    const uint32_t keep = 4, expected = keep < cols ? keep : cols, rows = cols > 1000 ? 16 : 128,
                   steps = cols > 1000 ? 2 : 4;
    const char *const names[] = {"off",   "top-k",           "top-p",           "top-k and top-p",
                                 "min-p", "top-k and min-p", "top-p and min-p", "all thresholds"};
    sampling s = make(ops, rows, cols);
    s.args.temperature = 4; // no token is rare
    set_thresholds(&s, keep, which & 1, which & 2, which & 4);
    vkf_test_upload(ops, s.x);
    uint8_t *seen = calloc(cols, 1);
    uint32_t distinct = 0;
    assert_non_null(seen);
    for (s.args.step = 0; s.args.step < steps; s.args.step++) {
        sample(ops, &s);
        (void)check_tokens(ops, &s, names[which]);
        distinct += distinct_tokens(&s, seen);
    }
    if (distinct != expected)
        fail_msg("%s of %u columns: %u tokens came, not %u", names[which], cols, distinct, expected);
    free(seen);
    vkf_test_ops_reset(ops);
}

static void test_sample_keeps_exactly_what_the_thresholds_keep(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(COLS); i++)
        for (int which = 1; which < 8; which++)
            if (COLS[i] <= 1000 || which <= 2 || which == 7) // the reference sorts long rows for seconds
                check_support(ops, COLS[i], which);
}

// Token for token the reference's, over rows that differ.
static void test_sample_draws_the_reference_tokens(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float temperatures[] = {0.3f, 1, 2.5f};
    for (size_t i = 0; i < COUNT_OF(COLS); i++)
        for (size_t t = 0; t < COUNT_OF(temperatures); t++) {
            sampling s = make(ops, COLS[i] > 1000 ? 16 : 200, COLS[i]);
            s.args.temperature = temperatures[t];
            s.args.step = (uint32_t)t;
            sample(ops, &s);
            uint32_t compared = check_tokens(ops, &s, "no thresholds");
            // Half the draws, unless there are so many tokens that every one is near a border.
            if (compared < s.args.rows / 2 && (COLS[i] <= 1000 || temperatures[t] < 1))
                fail_msg("only %u of %u draws of %u columns were compared", compared, s.args.rows, COLS[i]);
            vkf_test_ops_reset(ops);
        }
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
    double probabilities[TOKENS], others[TOKENS], sorted[TOKENS];
    sampling s = make(ops, ROWS, TOKENS);
    for (size_t i = 0; i < s.x->count; i++)
        s.x->values[i] = (float)(i % TOKENS * 7 % TOKENS) / 12;
    vkf_test_upload(ops, s.x);
    for (s.args.step = 10; s.args.step < 10 + STEPS; s.args.step++) {
        sample(ops, &s);
        for (uint32_t row = 0; row < ROWS; row++)
            counts[token_of(&s, row)]++;
    }
    vkf__ref_sample_desc desc = row_of(&s, 0);
    vkf__ref_sample_probabilities(&desc, probabilities, sorted);
    desc.temperature = 1.1f;
    vkf__ref_sample_probabilities(&desc, others, sorted);
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
    int32_t *expected = calloc(s->args.rows, sizeof *expected);
    assert_non_null(expected);
    vkf__ref_argmax(s->args.rows, s->args.cols, s->x->values, expected);
    sample(ops, s);
    for (uint32_t row = 0; row < s->args.rows; row++)
        if (token_of(s, row) != expected[row])
            fail_msg("%s of %u columns: row %u gives %d, not %d", what, s->args.cols, row, token_of(s, row),
                     expected[row]);
    free(expected);
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

static void make_seen(vkf_test_ops *ops, sampling *s)
{
    const uint32_t words = words_of(s->args.cols);
    s->seen = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(s->args.rows, words));
    for (size_t i = 0; i < s->seen->count; i++)
        s->seen->ids[i] = (int32_t)(0x9e3779b9u * (uint32_t)(i + 1));
    vkf_test_upload(ops, s->seen);
    s->args.seen = SPAN(s->seen);
}

// A row whose largest is not finite has no token, wherever that stands; minus infinity beside a number is left out.
static void check_not_finite(vkf_test_ops *ops, uint32_t cols, float temperature)
{
    const float odd[] = {NAN, INFINITY, -INFINITY, -NAN};
    sampling s = make(ops, 5, cols);
    make_seen(ops, &s);
    for (uint32_t row = 0; row < s.args.rows; row++)
        for (uint32_t col = 0; col < cols; col++)
            if (row == 2 || (row == 4 ? col > 0 : col == (row == 0 ? 0 : cols - 1)))
                s.x->values[row * cols + col] = odd[row == 4 ? 2 : row];
    vkf_test_upload(ops, s.x);
    s.args.temperature = temperature;
    int32_t *before = malloc(s.seen->count * sizeof *before);
    assert_non_null(before);
    memcpy(before, s.seen->ids, s.seen->count * sizeof *before);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "sample", emit, &s.args), "not finite");
    vkf_test_download(ops, s.out);
    vkf_test_download(ops, s.seen);
    for (uint32_t row = 0; row < 5; row++)
        assert_int_equal(token_of(&s, row), row < 4 ? -1 : 0);
    assert_memory_equal(s.seen->ids, before, 4 * (size_t)words_of(cols) * sizeof *before);
    free(before);
    vkf_test_ops_reset(ops);
}

static void test_sample_of_what_is_not_finite(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(COLS); i++)
        for (int temperature = 0; temperature < 2 && COLS[i] <= 50257; temperature++)
            check_not_finite(ops, COLS[i], (float)temperature);
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
    (void)check_tokens(ops, &s, "masked");
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

// What was seen is penalised, the chosen token joins it, and no other bit changes.
static void test_sample_penalises_what_was_seen(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(COLS); i++)
        for (int temperature = 0; temperature < 2; temperature++) {
            sampling s = make(ops, 12, COLS[i]);
            make_seen(ops, &s);
            s.args.temperature = (float)temperature / 2;
            s.args.repetition_penalty = 1.5f;
            int32_t *before = malloc(s.seen->count * sizeof *before);
            assert_non_null(before);
            memcpy(before, s.seen->ids, s.seen->count * sizeof *before);
            sample(ops, &s);
            (void)check_tokens(ops, &s, "penalised");
            for (uint32_t row = 0; row < s.args.rows; row++) {
                uint32_t token = (uint32_t)token_of(&s, row);
                int32_t *word = &before[row * words_of(COLS[i]) + token / 32];
                *word = (int32_t)((uint32_t)*word | 1u << (token % 32));
            }
            vkf_test_download(ops, s.seen);
            assert_memory_equal(s.seen->ids, before, s.seen->count * sizeof *before);
            free(before);
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
    make_seen(ops, &s);
    s.seen->ids[0] = 1 << 1;
    s.seen->ids[1] = 1 << 0;
    vkf_test_upload(ops, s.seen);
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

static void test_sample_writes_where_it_is_told(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    sampling s = make(ops, 4, 50);
    s.out = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(4, 3));
    s.args.out = SPAN(s.out);
    s.args.out_stride = 3;
    s.args.out_first = 2;
    sample(ops, &s);
    (void)check_tokens(ops, &s, "strided");
    for (size_t i = 0; i < s.out->count; i++)
        if (i % 3 != 2)
            assert_int_equal(s.out->ids[i], (int32_t)VKF_TEST_UNTOUCHED);
}

static void test_sample_of_no_rows_and_of_too_many_columns(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    sampling s = make(ops, 2, 8);
    s.args.rows = 0;
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "sample", emit, &s.args), "no rows");
    vkf_test_assert_untouched(ops, s.out);
    s.args.rows = 2;
    s.args.cols = (1u << 24) + 1;
    vkf_test_assert_refused(ops, vkf__run_once(ops->gpu.context, "sample", emit, &s.args), VKF_ERROR_TOO_LARGE,
                            "2^24 + 1 columns");
    vkf_test_assert_untouched(ops, s.out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_sample_keeps_exactly_what_the_thresholds_keep),
        VKF_OPS_TEST(test_sample_draws_the_reference_tokens),
        VKF_OPS_TEST(test_sample_frequencies),
        VKF_OPS_TEST(test_sample_is_a_function_of_the_seed_and_the_step),
        VKF_OPS_TEST(test_sample_of_the_largest),
        VKF_OPS_TEST(test_sample_of_what_is_not_finite),
        VKF_OPS_TEST(test_sample_of_equals),
        VKF_OPS_TEST(test_sample_leaves_masked_tokens),
        VKF_OPS_TEST(test_sample_keeps_ties),
        VKF_OPS_TEST(test_sample_penalises_what_was_seen),
        VKF_OPS_TEST(test_sample_penalty_by_hand),
        VKF_OPS_TEST(test_sample_writes_where_it_is_told),
        VKF_OPS_TEST(test_sample_of_no_rows_and_of_too_many_columns),
    };
    return cmocka_run_group_tests_name("op_sample", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

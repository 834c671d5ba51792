// Sampling by many workgroups to a row: the same tokens, and the same bits of what was seen, as from one workgroup of
// the same size, whatever part of the row decides.
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/operators.h"
#include "op/run_once.h"
#include "op/sample.h"
#include "support/op_fixture.h"
#include "support/taken_kernel.h"

#define WHOLE "sample.f32/row256"
#define PARTS "sample_parts.f32/parts256"
#define PART 2048 // columns
enum { ROWS = 3 };

static const uint32_t COLS[] = {1, 2, 255, 257, PART, PART + 1, 32003, 151936, 262147};

// Together they reach every phase, and skip each that can be.
static const vkf__sample_args SETTINGS[] = {
    {.temperature = 0, .top_p = 1},
    {.temperature = 1, .top_p = 1},
    {.temperature = 0.7f, .top_k = 50, .top_p = 1},
    {.temperature = 1.5f, .top_p = 0.9f, .min_p = 1e-5f},
    {.temperature = 1, .top_k = PART + 1000, .top_p = 0.95f},
};

typedef struct pair {
    vkf_test_ops whole, parts;
    bool open;
} pair;

// Both contexts have a driver's own subgroups and limits; a device may lack workgroups of 256.
static void open_pair(void **state, pair *out)
{
    vkf_test_skip_unless_supported(vkf_test_ops_of(state)->gpu.context, PARTS);
    out->open = vkf_test_ops_open_variant(&out->whole, WHOLE);
    out->open = vkf_test_ops_open_variant(&out->parts, PARTS) && out->open;
    assert_true(out->open);
}

static void close_pair(pair *p)
{
    vkf_test_ops_close(&p->whole);
    vkf_test_ops_close(&p->parts);
}

// Runs with copies of the logits and of what was seen; writes tokens (ROWS), then the bits that are seen now.
static void run(vkf_test_ops *ops, const char *kernel, vkf__sample_args args, const float *x, const int32_t *seen,
                int32_t *out)
{
    const uint32_t words = (args.cols + 31) / 32;
    vkf_test_operand *logits = vkf_test_values(ops, VKF_DTYPE_F32, x, SHAPE(ROWS, args.cols));
    vkf_test_operand *bits = vkf_test_ids(ops, seen, SHAPE(ROWS, words));
    vkf_test_operand *tokens = vkf_test_output(ops, VKF_DTYPE_I32, SHAPE(ROWS));
    args.label = "sample";
    args.rows = ROWS;
    args.out_stride = 1;
    args.x = vkf__span_of(&logits->tensor);
    args.seen = vkf__span_of(&bits->tensor);
    args.out = vkf__span_of(&tokens->tensor);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "sample", vkf__operator(VKF_OP_SAMPLE)->emit, &args),
                       "sample");
    assert_string_equal(vkf_context_get_last_op_kernel(ops->gpu.context), kernel);
    vkf_test_download(ops, tokens);
    vkf_test_download(ops, bits);
    memcpy(out, tokens->ids, ROWS * sizeof *out);
    memcpy(out + ROWS, bits->ids, (size_t)ROWS * words * sizeof *out);
    vkf_test_ops_reset(ops);
}

// Gives the tokens.
static void check_same(pair *p, const vkf__sample_args *args, const float *x, const int32_t *seen, int32_t tokens[ROWS])
{
    const size_t count = ROWS * (1 + ((size_t)args->cols + 31) / 32);
    int32_t *whole = (int32_t *)vkf_test_floats(count), *parts = (int32_t *)vkf_test_floats(count);
    run(&p->whole, "sample.f32", *args, x, seen, whole);
    run(&p->parts, "sample_parts.f32", *args, x, seen, parts);
    for (size_t i = 0; i < count; i++)
        if (whole[i] != parts[i])
            fail_msg("%u columns, temperature %g, top-k %u, top-p %g, step %u: word %zu is %" PRId32 ", not %" PRId32,
                     args->cols, (double)args->temperature, args->top_k, (double)args->top_p, args->step, i, parts[i],
                     whole[i]);
    memcpy(tokens, parts, ROWS * sizeof *tokens);
    free(whole);
    free(parts);
}

static int32_t *some_seen(uint32_t cols)
{
    const size_t count = ROWS * (((size_t)cols + 31) / 32);
    int32_t *seen = (int32_t *)vkf_test_floats(count);
    for (size_t i = 0; i < count; i++)
        seen[i] = (int32_t)(0x9e3779b9u * (uint32_t)(i + 1));
    return seen;
}

// Logits of three rows: normal ones, some of them -inf; few values with many ties; nothing that is a number.
static float *some_logits(vkf_test_ops *ops, uint32_t cols)
{
    float *x = vkf_test_floats((size_t)ROWS * cols);
    memcpy(x, vkf_test_normal(ops, VKF_DTYPE_F32, 0, 3, SHAPE(ROWS, cols))->values, (size_t)ROWS * cols * sizeof *x);
    vkf_test_ops_reset(ops);
    for (uint32_t col = 0; col < cols; col++) {
        x[col] = col % 7 == 3 ? -INFINITY : x[col];
        x[cols + col] = roundf(x[cols + col]);
        x[2 * (size_t)cols + col] = NAN;
    }
    return x;
}

static void test_parts_choose_what_the_whole_does(void **state)
{
    pair p;
    open_pair(state, &p);
    for (size_t c = 0; c < COUNT_OF(COLS); c++) {
        // The longest of the long rows; VKF_TEST_ALL=1: all.
        if (COLS[c] > 32003 && c + 1 < COUNT_OF(COLS) && !vkf_test_all())
            continue;
        float *x = some_logits(&p.whole, COLS[c]);
        int32_t *seen = some_seen(COLS[c]), tokens[ROWS];
        for (size_t i = 0; i < COUNT_OF(SETTINGS); i++)
            for (uint32_t step = 0; step < (COLS[c] <= PART + 1 || vkf_test_all() ? 3 : 1); step++) {
                vkf__sample_args args = SETTINGS[i];
                args.cols = COLS[c];
                args.repetition_penalty = step + i == 2 ? 1.25f : 1;
                args.seed = UINT64_C(0x1234567890abcdef) + i;
                args.step = step;
                check_same(&p, &args, x, seen, tokens);
                assert_in_range(tokens[0], 0, COLS[c] - 1);
                assert_int_equal(tokens[2], -1);
            }
        free(x);
        free(seen);
    }
    close_pair(&p);
}

// The largest logit, and its equals, beside the borders of parts: the lowest comes without a draw, and each one with.
static void test_ties_across_parts(void **state)
{
    static const uint32_t places[] = {0, PART - 1, PART, 2 * PART - 1, 2 * PART, 5 * PART + 9};
    const uint32_t cols = 5 * PART + 10;
    float *x = vkf_test_floats((size_t)ROWS * cols);
    int32_t *seen = some_seen(cols), tokens[ROWS];
    uint32_t came = 0; // a bit for each of the places
    pair p;
    open_pair(state, &p);
    for (uint32_t first = 0; first < COUNT_OF(places); first++) {
        for (uint32_t row = 0; row < ROWS; row++)
            for (uint32_t i = 0; i < COUNT_OF(places); i++)
                x[row * cols + places[i]] = i >= first ? 2.5f : -1;
        vkf__sample_args args = {.cols = cols, .top_p = 1, .repetition_penalty = 1};
        check_same(&p, &args, x, seen, tokens);
        for (uint32_t row = 0; row < ROWS; row++)
            assert_int_equal(tokens[row], places[first]);
    }
    for (uint32_t i = 0; i < COUNT_OF(places); i++)
        for (uint32_t row = 0; row < ROWS; row++)
            x[row * cols + places[i]] = 2.5f;
    for (uint32_t step = 0; step < 16; step++) {
        vkf__sample_args args = {
            .cols = cols, .temperature = 1, .top_k = 2, .top_p = 1, .repetition_penalty = 1, .step = step};
        check_same(&p, &args, x, seen, tokens);
        for (uint32_t row = 0; row < ROWS; row++)
            for (uint32_t i = 0; i < COUNT_OF(places); i++)
                came |= (uint32_t)((uint32_t)tokens[row] == places[i]) << i;
    }
    assert_int_equal(came, (1u << COUNT_OF(places)) - 1);
    free(x);
    free(seen);
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_parts_choose_what_the_whole_does),
        VKF_OPS_TEST(test_ties_across_parts),
    };
    return cmocka_run_group_tests_name("op_sample_parts", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

// The reference of the masked softmax against numbers worked out by hand.
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "op/softmax.h"
#include "support/by_hand.h"
#include "support/compare.h"
#include "support/random.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ATOL 1e-7
#define RTOL 1e-6

static const float LN2 = 0.69314718056f;
static const float LN3 = 1.09861228867f;

typedef struct softmax_case {
    vkf__softmax_args args;
    const float *x;
    const void *mask, *key_mask; // of the args' kinds
    float *out;
} softmax_case;

// One row of three columns, all under the masks.
static softmax_case one_row(const float *x, float *out)
{
    return (softmax_case){
        .args = {.batch = 1, .heads = 1, .q_len = 1, .k_len = 3, .masks = {.cols = 3, .scale = 1}}, .x = x, .out = out};
}

static void softmax(const softmax_case *c)
{
    vkf__softmax_args args = c->args;
    const size_t count = (size_t)args.batch * args.heads * args.q_len * args.k_len;
    const size_t masked = (size_t)(args.batch - 1) * args.masks.batch + (args.heads - 1) * args.masks.head +
                          (args.q_len - 1) * args.masks.row + args.masks.cols;
    args.label = "softmax";
    args.masks.key_batch = args.masks.key_kind == VKF_MASK_LENGTHS ? 1 : args.masks.cols;
    args.x = args.out = vkf_hand_operand(VKF_DTYPE_F32, c->x, count);
    args.masks.mask = vkf_hand_operand(vkf__mask_dtype(args.masks.kind), c->mask, masked);
    args.masks.key_mask =
        vkf_hand_operand(vkf__mask_dtype(args.masks.key_kind), c->key_mask, (size_t)args.batch * args.masks.key_batch);
    vkf_hand_run(VKF_OP_SOFTMAX, &args);
    vkf_hand_read(&args.out, c->out);
}

static void test_softmax_of_logarithms(void **state)
{
    (void)state;
    const float x[] = {0, LN2, LN3}; // exp: 1 2 3
    const float expected[] = {1 / 6.f, 2 / 6.f, 3 / 6.f};
    const float squared[] = {1 / 14.f, 4 / 14.f, 9 / 14.f};
    float out[3];
    softmax_case c = one_row(x, out);
    softmax(&c);
    assert_close(out, expected, 3, ATOL, RTOL, "softmax");
    c.args.masks.scale = 2;
    softmax(&c);
    assert_close(out, squared, 3, ATOL, RTOL, "softmax, scale 2");
}

static void test_softmax_mask_kinds(void **state)
{
    (void)state;
    const float x[] = {0, LN2, LN3};
    const uint8_t bytes[] = {0, 1, 0};
    const float added[] = {LN2, 0, -INFINITY};
    const int32_t lengths[] = {2};
    const float without_second[] = {1 / 4.f, 0, 3 / 4.f};
    const float only_second[] = {0, 1, 0};
    const float halves[] = {1 / 2.f, 1 / 2.f, 0}; // 1 * 2, 2, 3 * 0
    const float first_two[] = {1 / 3.f, 2 / 3.f, 0};
    const struct {
        vkf_mask_kind kind;
        const void *mask;
        const float *expected;
    } cases[] = {
        {VKF_MASK_BOOL_EXCLUDE, bytes, without_second},
        {VKF_MASK_BOOL_ATTEND, bytes, only_second},
        {VKF_MASK_ADDITIVE, added, halves},
        {VKF_MASK_LENGTHS, lengths, first_two},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        float out[3];
        softmax_case c = one_row(x, out);
        c.args.masks.key_kind = cases[i].kind;
        c.key_mask = cases[i].mask;
        softmax(&c);
        assert_close(out, cases[i].expected, 3, ATOL, RTOL, "key mask");
        if (cases[i].kind == VKF_MASK_LENGTHS)
            continue;
        c.args.masks.key_kind = VKF_MASK_NONE;
        c.args.masks.kind = cases[i].kind;
        c.mask = cases[i].mask;
        softmax(&c);
        assert_close(out, cases[i].expected, 3, ATOL, RTOL, "mask");
    }
}

static void test_softmax_masks_together(void **state)
{
    (void)state;
    const float x[] = {0, 0, 0, 0};
    const uint8_t exclude[] = {1, 0, 0};
    const float added[] = {0, 0, LN2};
    const float expected[] = {0, 1 / 4.f, 2 / 4.f, 1 / 4.f}; // the fourth column lies past the masks
    float out[4];
    softmax_case c = one_row(x, out);
    c.args.k_len = 4;
    c.args.masks.kind = VKF_MASK_BOOL_EXCLUDE;
    c.mask = exclude;
    c.args.masks.key_kind = VKF_MASK_ADDITIVE;
    c.key_mask = added;
    softmax(&c);
    assert_close(out, expected, 4, ATOL, RTOL, "both masks");
}

static void test_softmax_mask_strides(void **state)
{
    (void)state;
    const float x[8] = {0};                          // (2, 2, 1, 2)
    const uint8_t mask[] = {1, 0, 0, 1, 0, 0, 1, 0}; // (2, 2, 1, 2), excluded
    const float per_head[] = {0, 1, 1, 0, .5f, .5f, 0, 1};
    const float per_batch[] = {0, 1, 0, 1, .5f, .5f, .5f, .5f};
    const float shared[] = {0, 1, 0, 1, 0, 1, 0, 1};
    float out[8];
    softmax_case c = {.args.batch = 2,
                      .args.heads = 2,
                      .args.q_len = 1,
                      .args.k_len = 2,
                      .args.masks.cols = 2,
                      .x = x,
                      .out = out,
                      .args.masks.scale = 1,
                      .args.masks.kind = VKF_MASK_BOOL_EXCLUDE,
                      .mask = mask,
                      .args.masks.batch = 4,
                      .args.masks.head = 2};
    softmax(&c);
    assert_close(out, per_head, 8, ATOL, RTOL, "mask per head");
    c.args.masks.head = 0;
    softmax(&c);
    assert_close(out, per_batch, 8, ATOL, RTOL, "mask per batch entry");
    c.args.masks.batch = 0;
    softmax(&c);
    assert_close(out, shared, 8, ATOL, RTOL, "one mask");
}

static void test_softmax_causal_and_window(void **state)
{
    (void)state;
    const float x[8] = {0}; // two queries, four keys: the queries stand at keys 2 and 3
    const float causal[] = {1 / 3.f, 1 / 3.f, 1 / 3.f, 0, .25f, .25f, .25f, .25f};
    const float windowed[] = {0, .5f, .5f, 0, 0, 0, .5f, .5f};
    const float top_left[] = {1, 0, 0, 0, .5f, .5f, 0, 0};
    float out[8];
    softmax_case c = {.args.batch = 1,
                      .args.heads = 1,
                      .args.q_len = 2,
                      .args.k_len = 4,
                      .args.masks.cols = 4,
                      .x = x,
                      .out = out,
                      .args.masks.scale = 1,
                      .args.masks.causal = true,
                      .args.masks.causal_offset = 2};
    softmax(&c);
    assert_close(out, causal, 8, ATOL, RTOL, "causal, bottom right");
    c.args.masks.window = 2;
    softmax(&c);
    assert_close(out, windowed, 8, ATOL, RTOL, "window of 2");
    c.args.masks.window = 0;
    c.args.masks.causal_offset = 0;
    softmax(&c);
    assert_close(out, top_left, 8, ATOL, RTOL, "causal, top left");
}

static void test_softmax_fully_masked_rules(void **state)
{
    (void)state;
    const float third = 1 / 3.f;
    const float expected[VKF_FULLY_MASKED_COUNT][3] = {{0, 0, 0}, {NAN, NAN, NAN}, {third, third, third}};
    const float input[] = {-INFINITY, -INFINITY, -INFINITY};
    for (int rule = 0; rule < VKF_FULLY_MASKED_COUNT; rule++) {
        float out[3];
        softmax_case c = one_row(input, out);
        c.args.masks.fully_masked = (vkf_fully_masked)rule;
        softmax(&c);
        assert_close(out, expected[rule], 3, ATOL, RTOL, "fully masked");
    }
}

// As torch.softmax(x + mask, -1) has it in float32.
static void test_softmax_low_masks_are_values(void **state)
{
    (void)state;
    const float x[] = {1, 2, 1}, third = 1 / 3.f;
    const struct {
        float mask[3], expected[3];
    } rows[] = {
        {{-FLT_MAX, -FLT_MAX, -FLT_MAX}, {third, third, third}},
        {{-1.7014118e38f, -1.7014118e38f, -INFINITY}, {.5f, .5f, 0}},
        {{-1e30f, -1e30f, -FLT_MAX}, {.5f, .5f, 0}},
        {{-65504, -FLT_MAX, -65504}, {.5f, 0, .5f}},
        {{-FLT_MAX, -INFINITY, -INFINITY}, {1, 0, 0}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        float out[3];
        softmax_case c = one_row(x, out);
        c.args.masks.kind = VKF_MASK_ADDITIVE;
        c.mask = rows[i].mask;
        c.args.masks.fully_masked = VKF_FULLY_MASKED_NAN;
        softmax(&c);
        assert_close(out, rows[i].expected, 3, ATOL, RTOL, "low masks");
    }
}

// Two of the lowest number are -inf together, as in float32 they are for PyTorch.
static void test_softmax_masks_overflow_together(void **state)
{
    (void)state;
    const float x[] = {1, 2, 1}, low[] = {-FLT_MAX, -FLT_MAX, -FLT_MAX}, part[] = {0, -FLT_MAX, -FLT_MAX};
    const float first[] = {1, 0, 0};
    float out[3];
    softmax_case c = one_row(x, out);
    c.args.masks.kind = c.args.masks.key_kind = VKF_MASK_ADDITIVE;
    c.mask = low;
    c.key_mask = part;
    c.args.masks.fully_masked = VKF_FULLY_MASKED_NAN;
    softmax(&c);
    assert_close(out, first, 3, 0, 0, "low masks together");
}

static void test_softmax_special_values(void **state)
{
    (void)state;
    const float nan_row[] = {0, NAN, -INFINITY};
    const float inf_row[] = {0, INFINITY, 0};
    const float large_row[] = {1e4f, -1e4f, 1e4f};
    const float all_nan[] = {NAN, NAN, NAN};
    const float halves[] = {.5f, 0, .5f};
    float out[3];
    softmax_case c = one_row(nan_row, out);
    softmax(&c);
    assert_close(out, all_nan, 3, 0, 0, "NaN");
    c.x = inf_row;
    softmax(&c);
    assert_close(out, all_nan, 3, 0, 0, "+inf");
    c.x = large_row;
    softmax(&c);
    assert_close(out, halves, 3, 0, 0, "+-1e4");
    const uint8_t exclude[] = {0, 1, 0};
    const float first[] = {1, 0, 0};
    c.x = nan_row;
    c.args.masks.kind = VKF_MASK_BOOL_EXCLUDE;
    c.mask = exclude;
    softmax(&c);
    assert_close(out, first, 3, 0, 0, "a masked NaN");
}

static void test_softmax_rows_sum_to_one(void **state)
{
    (void)state;
    enum { ROWS = 12, COLS = 37 };
    vkf_test_random random;
    vkf_test_random_init(&random, 11);
    float x[ROWS * COLS], out[ROWS * COLS], sums[ROWS] = {0}, ones[ROWS];
    vkf_test_fill_normal(&random, x, ROWS * COLS, 0, 5);
    softmax(&(softmax_case){.args.batch = 2,
                            .args.heads = 3,
                            .args.q_len = 2,
                            .args.k_len = COLS,
                            .args.masks.cols = COLS,
                            .x = x,
                            .out = out,
                            .args.masks.scale = 0.5f,
                            .args.masks.causal = true,
                            .args.masks.causal_offset = 20,
                            .args.masks.window = 9});
    for (size_t i = 0; i < ROWS * COLS; i++) {
        assert_true(out[i] >= 0);
        sums[i / COLS] += out[i];
        ones[i / COLS] = 1;
    }
    assert_close(sums, ones, ROWS, 1e-6, 0, "row sums, seed 11");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax_of_logarithms),        cmocka_unit_test(test_softmax_mask_kinds),
        cmocka_unit_test(test_softmax_masks_together),       cmocka_unit_test(test_softmax_mask_strides),
        cmocka_unit_test(test_softmax_causal_and_window),    cmocka_unit_test(test_softmax_fully_masked_rules),
        cmocka_unit_test(test_softmax_low_masks_are_values), cmocka_unit_test(test_softmax_masks_overflow_together),
        cmocka_unit_test(test_softmax_special_values),       cmocka_unit_test(test_softmax_rows_sum_to_one),
    };
    return cmocka_run_group_tests(tests, vkf_hand_setup, vkf_hand_teardown);
}

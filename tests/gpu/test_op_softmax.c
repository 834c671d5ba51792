// What vkf_softmax() makes of its arguments, against the reference: masks of every kind and shape, fully masked rows,
// long rows.
//
// Bounds: relative, as the weights of long rows are small. f32: the device's exp() of differences up to about 20,
// 1e-5. f16: the rounding of the stored weight, 2^-11, and 2^-25 where it is subnormal.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/mask_operand.h"
#include "support/reference.h"

typedef struct softmax_case {
    uint32_t shape[4]; // of x: (B, H, L, S)
    vkf_dtype dtype;
    float scale;
    vkf_mask_kind mask_kind;
    uint32_t mask_rank;
    uint32_t mask_shape[4];
    vkf_mask_kind key_mask_kind;
    vkf_causal causal;
    uint32_t window;
    vkf_fully_masked fully_masked;
    vkf_test_score_form form;
    bool logarithm;
    bool in_place;
    bool mask_all; // every key of batch entry 0 is masked by the key mask, every key of row 0 by the mask
} softmax_case;

typedef struct softmax_operands {
    vkf_test_operand *x, *mask, *key_mask, *out;
} softmax_operands;

static float *expect(const softmax_case *c, const softmax_operands *o)
{
    float *expected = vkf_test_floats(o->x->count);
    vkf_ref_softmax_desc desc = {
        .batch = c->shape[0],
        .heads = c->shape[1],
        .q_len = c->shape[2],
        .k_len = c->shape[3],
        .mask_cols = c->shape[3],
        .x = o->x->values,
        .out = expected,
        .scale = c->scale == 0.0f ? 1.0f : c->scale,
        .mask_kind = c->mask_kind,
        .mask = vkf_test_content_of(o->mask),
        .mask_batch = vkf_test_broadcast_stride(o->mask, 3),
        .mask_head = vkf_test_broadcast_stride(o->mask, 2),
        .mask_row = vkf_test_broadcast_stride(o->mask, 1),
        .key_mask_kind = c->key_mask_kind,
        .key_mask = vkf_test_content_of(o->key_mask),
        .window = c->window,
        .fully_masked = c->fully_masked,
        .logarithm = c->logarithm,
    };
    vkf_ref_place_queries(&desc, c->causal);
    vkf_test_expect_form(&c->form, &desc);
    vkf_ref_softmax(&desc);
    for (size_t i = 0; i < o->x->count; i++)
        if (c->dtype == VKF_DTYPE_F16 && expected[i] < -65504)
            expected[i] = -INFINITY; // logarithms of low scores
    return expected;
}

// Compares what the device makes of the operands with the reference, and resets them.
static void check(vkf_test_ops *ops, const softmax_case *c, const softmax_operands *o)
{
    float *expected = expect(c, o);
    const vkf_softmax_desc desc = {
        .x = o->x->tensor,
        .out = o->out->tensor,
        .scale = c->scale,
        .mask_kind = c->mask_kind,
        .mask = vkf_test_tensor_of(o->mask),
        .key_mask_kind = c->key_mask_kind,
        .key_mask = vkf_test_tensor_of(o->key_mask),
        .causal = c->causal,
        .window = c->window,
        .fully_masked = c->fully_masked,
        .logarithm = c->logarithm,
        .window_right = c->form.window_right,
        .soft_cap = c->form.soft_cap,
        .slopes = vkf_test_tensor_of(c->form.slopes),
        .sinks = vkf_test_tensor_of(c->form.sinks),
    };
    bool half = c->dtype == VKF_DTYPE_F16;
    vkf_test_assert_ok(ops, vkf_softmax(ops->gpu.context, &desc), "vkf_softmax");
    vkf_test_download(ops, o->out);
    const double least = c->logarithm ? 1e-6 : half ? 0x1p-25 + 1e-8 : 1e-10; // logarithms are sums of numbers about 1
    assert_close(o->out->values, expected, o->out->count, least, half ? 0x1p-11 + 1e-5 : 1e-5,
                 vkf_test_label(&ops->gpu,
                                "softmax %s (%u, %u, %u, %u), mask %d of rank %u (%u, ..), key mask %d, causal %d,"
                                " window %u and %u, cap %g, rule %d%s%s%s%s",
                                vkf_dtype_name(c->dtype), c->shape[0], c->shape[1], c->shape[2], c->shape[3],
                                (int)c->mask_kind, c->mask_rank, c->mask_shape[0], (int)c->key_mask_kind,
                                (int)c->causal, c->window, c->form.window_right, (double)c->form.soft_cap,
                                (int)c->fully_masked, c->form.sloped ? ", slopes" : "", c->form.sunk ? ", sinks" : "",
                                c->logarithm ? ", logarithm" : "", c->in_place ? ", in place" : ""));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void run(vkf_test_ops *ops, const softmax_case *given)
{
    softmax_case made = *given, *c = &made;
    vkf_test_make_form(ops, &made.form, c->shape[1]);
    softmax_operands o = {.x = vkf_test_normal(ops, c->dtype, 0, 3, 4, c->shape)};
    o.out = c->in_place ? o.x : vkf_test_output(ops, c->dtype, 4, c->shape);
    if (c->mask_kind != VKF_MASK_NONE)
        o.mask = vkf_test_mask_operand(ops, c->mask_kind, c->mask_all ? c->shape[3] : 0, c->mask_rank, c->mask_shape);
    o.key_mask = vkf_test_key_mask_operand(ops, c->key_mask_kind, c->shape[0], c->shape[3], c->mask_all);
    check(ops, c, &o);
}

static void test_softmax_rows_of_100000(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    run(ops, &(softmax_case){.shape = {1, 1, 2, 100000}});
    run(ops, &(softmax_case){
                 .shape = {1, 1, 2, 100000}, .causal = VKF_CAUSAL_BOTTOM_RIGHT, .window = 70000, .in_place = true});
}

static void test_softmax_scale(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float scales[] = {0, 1, 0.125f, -2, 1e-20f};
    for (size_t i = 0; i < COUNT_OF(scales); i++)
        run(ops, &(softmax_case){.shape = {1, 2, 3, 11}, .scale = scales[i]});
}

static const uint32_t MASK_SHAPES[][5] = {
    // rank, shape
    {1, 13},          {2, 5, 13},       {2, 1, 13},       {3, 3, 5, 13},    {3, 3, 1, 13},    {3, 1, 5, 13},
    {4, 2, 3, 5, 13}, {4, 2, 1, 1, 13}, {4, 2, 1, 5, 13}, {4, 1, 3, 1, 13}, {4, 2, 3, 1, 13}, {4, 1, 1, 1, 13},
};

static void test_softmax_mask_kinds_and_broadcasts(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(MASK_SHAPES); i++) {
        for (int kind = VKF_MASK_BOOL_EXCLUDE; kind <= VKF_MASK_ADDITIVE; kind++) {
            softmax_case c = {.shape = {2, 3, 5, 13}, .mask_kind = (vkf_mask_kind)kind, .mask_rank = MASK_SHAPES[i][0]};
            memcpy(c.mask_shape, MASK_SHAPES[i] + 1, sizeof c.mask_shape);
            c.in_place = i % 2 == 1;
            run(ops, &c);
        }
    }
}

static void test_softmax_key_masks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t shapes[][4] = {{3, 2, 5, 13}, {2, 1, 1, 1}, {2, 2, 3, 70}};
    for (int kind = VKF_MASK_BOOL_EXCLUDE; kind < VKF_MASK_KIND_COUNT; kind++) {
        for (size_t i = 0; i < COUNT_OF(shapes); i++) {
            softmax_case c = {.key_mask_kind = (vkf_mask_kind)kind, .dtype = i == 2 ? VKF_DTYPE_F16 : VKF_DTYPE_F32};
            memcpy(c.shape, shapes[i], sizeof c.shape);
            run(ops, &c);
        }
    }
}

static void test_softmax_causal_and_window(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t lengths[][2] = {{1, 1}, {7, 7}, {5, 12}, {12, 5}, {1, 9}};
    static const uint32_t windows[] = {0, 1, 3, 100, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(lengths); i++)
        for (int causal = 0; causal < VKF_CAUSAL_COUNT; causal++)
            for (size_t w = 0; w < COUNT_OF(windows); w++)
                run(ops, &(softmax_case){.shape = {2, 2, lengths[i][0], lengths[i][1]},
                                         .causal = (vkf_causal)causal,
                                         .key_mask_kind = vkf_test_key_kind_of((vkf_causal)causal, VKF_MASK_NONE),
                                         .window = windows[w]});
}

// Beside masks that add and such that hide, and of rows in which every key is masked. Each choice repeats after a
// number of its own, so that it meets the others.
static void test_softmax_forms_of_scores(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (uint32_t i = 0; i < 8 * VKF_TEST_SCORE_FORMS; i++) {
        softmax_case c = {.shape = {2, 3, 5, 13}, .form = vkf_test_score_forms[i / 8], .in_place = i % 7 < 3};
        c.causal = (vkf_causal)(i % VKF_CAUSAL_COUNT);
        c.window = i % 4 == 3 ? 4 : 0;
        c.mask_kind = i % 4 == 1 ? VKF_MASK_ADDITIVE : VKF_MASK_NONE;
        c.mask_rank = 2;
        memcpy(c.mask_shape, (const uint32_t[]){5, 13}, 2 * sizeof(uint32_t));
        c.key_mask_kind = vkf_test_key_kind_of(c.causal, i % 4 == 2 ? VKF_MASK_LENGTHS : VKF_MASK_NONE);
        c.mask_all = i % 4 > 0;
        c.fully_masked = (vkf_fully_masked)(i / 3 % VKF_FULLY_MASKED_COUNT);
        c.logarithm = i / 4 % 2 == 1;
        c.dtype = i % 5 < 2 ? VKF_DTYPE_F16 : VKF_DTYPE_F32;
        run(ops, &c);
    }
}

// log_softmax of numbers whose weights are no float32.
static void test_softmax_logarithm_of_small_weights(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int rule = 0; rule < VKF_FULLY_MASKED_COUNT; rule++)
        run(ops, &(softmax_case){.shape = {2, 1, 3, 70},
                                 .scale = 100,
                                 .key_mask_kind = VKF_MASK_LENGTHS,
                                 .mask_all = true,
                                 .fully_masked = (vkf_fully_masked)rule,
                                 .logarithm = true});
}

// Everything at once, and row 0 or batch entry 0 fully masked, under each rule.
static const softmax_case COMBINATIONS[] = {
    {.shape = {2, 2, 3, 13}, .mask_kind = VKF_MASK_BOOL_EXCLUDE, .mask_rank = 2, .mask_shape = {3, 13}},
    {.shape = {2, 2, 3, 13},
     .mask_kind = VKF_MASK_BOOL_ATTEND,
     .mask_rank = 2,
     .mask_shape = {3, 13},
     .in_place = true},
    {.shape = {2, 2, 3, 13}, .mask_kind = VKF_MASK_ADDITIVE, .mask_rank = 3, .mask_shape = {2, 3, 13}},
    {.shape = {2, 2, 3, 13}, .key_mask_kind = VKF_MASK_BOOL_EXCLUDE},
    {.shape = {2, 2, 3, 13}, .key_mask_kind = VKF_MASK_LENGTHS},
    {.shape = {2, 2, 3, 13}, .key_mask_kind = VKF_MASK_ADDITIVE},
    {.shape = {1, 2, 9, 4}, .causal = VKF_CAUSAL_BOTTOM_RIGHT},
    {.shape = {1, 2, 9, 4}, .causal = VKF_CAUSAL_TOP_LEFT, .window = 2},
    {.shape = {2, 2, 6, 13},
     .mask_kind = VKF_MASK_ADDITIVE,
     .mask_rank = 4,
     .mask_shape = {2, 2, 6, 13},
     .key_mask_kind = VKF_MASK_LENGTHS,
     .causal = VKF_CAUSAL_BOTTOM_RIGHT,
     .window = 5},
    {.shape = {2, 2, 6, 13},
     .mask_kind = VKF_MASK_BOOL_EXCLUDE,
     .mask_rank = 2,
     .mask_shape = {6, 13},
     .key_mask_kind = VKF_MASK_BOOL_ATTEND,
     .causal = VKF_CAUSAL_TOP_LEFT},
};

// The rule is one value for all kinds of mask: the first four meet each of them, the others one.
static void test_softmax_fully_masked_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int rule = 0; rule < VKF_FULLY_MASKED_COUNT; rule++) {
        for (size_t i = 0; i < COUNT_OF(COMBINATIONS); i++) {
            softmax_case c = COMBINATIONS[i];
            c.fully_masked = (vkf_fully_masked)rule;
            c.mask_all = true;
            c.dtype = i % 3 == 2 ? VKF_DTYPE_F16 : VKF_DTYPE_F32;
            if (i < 4 || (int)i % VKF_FULLY_MASKED_COUNT == rule)
                run(ops, &c);
        }
    }
}

static void test_softmax_lower_ranks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (uint32_t rank = 1; rank <= 4; rank++) {
        const uint32_t shape[] = {2, 3, 4, 9};
        softmax_case c = {.shape = {rank > 3 ? 2 : 1, rank > 2 ? 3 : 1, rank > 1 ? 4 : 1, 9},
                          .mask_kind = VKF_MASK_ADDITIVE,
                          .mask_rank = 1,
                          .mask_shape = {9}};
        softmax_operands o = {.x = vkf_test_normal(ops, c.dtype, 0, 2, rank, shape + (4 - rank))};
        o.out = vkf_test_output(ops, c.dtype, rank, shape + (4 - rank));
        o.mask = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(9));
        check(ops, &c, &o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_softmax_rows_of_100000),
        VKF_OPS_TEST(test_softmax_scale),
        VKF_OPS_TEST(test_softmax_mask_kinds_and_broadcasts),
        VKF_OPS_TEST(test_softmax_key_masks),
        VKF_OPS_TEST(test_softmax_causal_and_window),
        VKF_OPS_TEST(test_softmax_forms_of_scores),
        VKF_OPS_TEST(test_softmax_logarithm_of_small_weights),
        VKF_OPS_TEST(test_softmax_fully_masked_rows),
        VKF_OPS_TEST(test_softmax_lower_ranks),
    };
    return cmocka_run_group_tests_name("op_softmax", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

// Operators of training on elements where cases do not go: nothing to do, too much of it, activations far from 0, which
// of equal maxima counts, and equal runs.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/activation.h"
#include "op/activation_value.h"
#include "op/operators.h"
#include "op/run_once.h"
#include "op/train/activation_grad.h"
#include "op/train/additive_grad.h"
#include "op/train/dropout.h"
#include "op/train/embed_grad.h"
#include "op/train/gate_grad.h"
#include "op/train/optimiser.h"
#include "op/train/pool_grad.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

static vkf_status run(vkf_test_ops *ops, vkf__op op, const void *args)
{
    return vkf__run_once(ops->gpu.context, "limits", vkf__operator(op)->emit, args);
}

static void test_nothing_to_do_writes_nothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *in = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 3, 8));
    vkf_test_operand *written = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 8));
    const vkf__span x = SPAN(in), out = SPAN(written);
    static const int32_t ids[] = {3, 3};
    const vkf__activation_args activation = {"none", x, out, 0, 8, VKF_ACTIVATION_RELU, 0};
    const vkf__activation_grad_args activation_grad = {"none", x, x, out, 0, 8, VKF_ACTIVATION_RELU, false};
    const vkf__gate_grad_args gate_grad = {"none", x, x, out, 0, 0, 4, VKF_ACTIVATION_RELU};
    const vkf__dropout_args dropout = {"none", x, {0}, out, 0, 8, 0.5f, 1, 0, 0};
    const vkf__additive_grad_args additive = {.label = "none",
                                              .query = x,
                                              .key = x,
                                              .v = x,
                                              .dscores = x,
                                              .dquery = out,
                                              .dkey = out,
                                              .dv = out,
                                              .q_len = 2,
                                              .k_len = 3,
                                              .dim = 4,
                                              .accumulate_v = true};
    const vkf__pool_grad_args pool = {.label = "none",
                                      .x = x,
                                      .lengths = SPAN(vkf_test_ids(ops, ids, SHAPE(2))),
                                      .dout = x,
                                      .dx = out,
                                      .len = 3,
                                      .dim = 8,
                                      .normalise = true};
    const vkf__adam_args adam = {"none", out, x, out, x, 0, 1, 1, 0.9, 0.98, 1e-8, 0.5, true};
    const vkf__sgd_args sgd = {"none", out, x, out, x, 0, 1, 0.5f, 0.5f, false};
    const struct {
        vkf__op op;
        const void *args;
    } rows[] = {{VKF_OP_ACTIVATION, &activation},
                {VKF_OP_ACTIVATION_GRAD, &activation_grad},
                {VKF_OP_GATE_GRAD, &gate_grad},
                {VKF_OP_DROPOUT, &dropout},
                {VKF_OP_POOL_GRAD, &pool},
                {VKF_OP_ADDITIVE_GRAD, &additive},
                {VKF_OP_ADAM, &adam},
                {VKF_OP_SGD, &sgd}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        vkf_test_assert_ok(ops, run(ops, rows[i].op, rows[i].args), vkf__op_name(rows[i].op));
        vkf_test_assert_untouched(ops, written);
    }
}

static void test_too_much_is_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *written = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 3, 4));
    const vkf__span x = SPAN(written);
    const vkf__embed_grad_args embed = {
        .label = "much", .dout = x, .lists = x, .dtable = x, .tokens = 524273, .dim = 7, .unique = 1, .vocab = 3};
    const vkf__pool_grad_args pool = {
        .label = "much", .x = x, .lengths = x, .dout = x, .dx = x, .batch = 1, .len = 524273, .dim = 4};
    const vkf__additive_grad_args additive = {.label = "much",
                                              .query = x,
                                              .key = x,
                                              .v = x,
                                              .dscores = x,
                                              .dquery = x,
                                              .dkey = x,
                                              .dv = x,
                                              .batch = 3,
                                              .q_len = 100000,
                                              .k_len = 3,
                                              .dim = 4};
    vkf_test_assert_refused(ops, run(ops, VKF_OP_EMBED_GRAD, &embed), VKF_ERROR_TOO_LARGE, "tokens");
    vkf_test_assert_refused(ops, run(ops, VKF_OP_POOL_GRAD, &pool), VKF_ERROR_TOO_LARGE, "positions");
    vkf_test_assert_refused(ops, run(ops, VKF_OP_ADDITIVE_GRAD, &additive), VKF_ERROR_TOO_LARGE, "queries");
    vkf_test_assert_untouched(ops, written);
}

// Far from 0 a slope is its limit. NaN stays NaN.
static void test_slopes_far_from_0(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float values[] = {-INFINITY, -1e30f, -200, -30, 0, 30, 200, 1e30f, INFINITY, NAN};
    float expected[COUNT_OF(values)];
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++) {
        const vkf_activation kind = (vkf_activation)activation;
        vkf_test_operand *x = vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(COUNT_OF(values)));
        vkf_test_operand *ones = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(COUNT_OF(values)));
        vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(COUNT_OF(values)));
        const vkf__activation_grad_args args = {"far", SPAN(x), SPAN(ones), SPAN(dx), 1, COUNT_OF(values), kind, false};
        for (size_t i = 0; i < COUNT_OF(values); i++)
            expected[i] = (float)vkf__activation_slope(kind, values[i]);
        vkf_test_assert_ok(ops, run(ops, VKF_OP_ACTIVATION_GRAD, &args), "gradient");
        vkf_test_download(ops, dx);
        assert_close(dx->values, expected, COUNT_OF(values), 6e-6, 1e-6,
                     vkf_test_label(&ops->gpu, "activation %d far from 0", activation));
        vkf_test_ops_reset(ops);
    }
}

// The first of equal maxima, or the first NaN, has the gradient, and what lies behind a sequence may be no number.
static void test_which_maximum(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { LEN = 6 };
    const float values[2 * LEN] = {1, 3, -1, 3, 3, NAN, 1, NAN, 5, NAN, 7, 0};
    const float grads[2] = {2, 4}, expected[2 * LEN] = {0, 2, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0};
    const int32_t lengths[2] = {5, 6};
    vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, LEN, 1));
    const vkf__pool_grad_args args = {
        .label = "pool",
        .x = SPAN(vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(2, LEN, 1))),
        .lengths = SPAN(vkf_test_ids(ops, lengths, SHAPE(2))),
        .dout = SPAN(vkf_test_values(ops, VKF_DTYPE_F32, grads, SHAPE(2, 1))),
        .dx = SPAN(dx),
        .batch = 2,
        .len = LEN,
        .dim = 1,
        .pooling = VKF_POOLING_MAX,
    };
    vkf_test_assert_ok(ops, run(ops, VKF_OP_POOL_GRAD, &args), "pool_grad");
    vkf_test_download(ops, dx);
    assert_close(dx->values, expected, COUNT_OF(expected), 0, 0, vkf_test_label(&ops->gpu, "the first maximum"));
}

enum { TOKENS = 900, DIM = 130, VOCAB = 7 };

// Sums are taken in an order of their own: every run gives the same bits.
static void test_sums_of_tokens_are_equal_in_every_run(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    int32_t ids[TOKENS], lists[3 * TOKENS + 1] = {0};
    uint32_t scratch[VOCAB];
    for (uint32_t i = 0; i < TOKENS; i++)
        ids[i] = (int32_t)(i * i % VOCAB);
    const uint32_t unique = vkf__id_order(ids, TOKENS, VOCAB, scratch, lists);
    vkf_test_operand *listed = vkf_test_ids(ops, lists, SHAPE(COUNT_OF(lists)));
    vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(TOKENS, DIM)), *dtables[2];
    for (int i = 0; i < 2; i++) {
        dtables[i] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(VOCAB, DIM));
        const vkf__embed_grad_args args = {"embed", SPAN(dout), SPAN(listed), SPAN(dtables[i]), TOKENS, DIM, unique,
                                           VOCAB,   1.5f,       false};
        vkf_test_assert_ok(ops, run(ops, VKF_OP_EMBED_GRAD, &args), "embed_grad");
        vkf_test_download(ops, dtables[i]);
    }
    assert_memory_equal(dtables[0]->values, dtables[1]->values, dtables[0]->count * sizeof(float));
}

// Without tokens a table that is not added to becomes zeros.
static void test_no_tokens(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const int32_t lists[] = {0};
    for (int added = 0; added < 2; added++) {
        vkf_test_operand *dtable = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(3, 7));
        vkf_test_operand *dout = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(1, 7));
        const vkf__embed_grad_args args = {.label = "embed",
                                           .dout = SPAN(dout),
                                           .lists = SPAN(vkf_test_ids(ops, lists, SHAPE(1))),
                                           .dtable = SPAN(dtable),
                                           .dim = 7,
                                           .vocab = 3,
                                           .scale = 1,
                                           .accumulate = added};
        vkf_test_assert_ok(ops, run(ops, VKF_OP_EMBED_GRAD, &args), "embed_grad");
        if (added)
            vkf_test_assert_untouched(ops, dtable);
        vkf_test_download(ops, dtable);
        for (size_t i = 0; i < dtable->count && !added; i++)
            assert_true(dtable->values[i] == 0);
        vkf_test_ops_reset(ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_nothing_to_do_writes_nothing),
        VKF_OPS_TEST(test_too_much_is_refused),
        VKF_OPS_TEST(test_slopes_far_from_0),
        VKF_OPS_TEST(test_which_maximum),
        VKF_OPS_TEST(test_sums_of_tokens_are_equal_in_every_run),
        VKF_OPS_TEST(test_no_tokens),
    };
    return cmocka_run_group_tests_name("op_train_limits", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

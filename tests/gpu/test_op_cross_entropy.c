// Cross entropy and its gradient against the reference: rows about the workgroup's size and as long as a vocabulary,
// label smoothing, rows that do not count, the gradient in the logits' place, and extreme logits.
//
// Bounds. With logits about 10 below the maximum Vulkan grants exp() 3 + 2 * 10 units in the last place, 2.8e-6, and
// the sum and the quotient round a few times more: 1e-5 of a probability, and so of what goes into its logarithm, which
// itself has an absolute error of 2^-21 about 1.
#include <math.h>
#include <stdlib.h>

#include "op/cross_entropy.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define IGNORED (-100)
#define PROBABILITY_ERROR 1e-5

typedef struct loss_case {
    vkf_test_operand *logits, *labels;
    float smoothing, factor;
    bool in_place; // the gradient takes the logits' place
    bool lone;     // there is no gradient
} loss_case;

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_cross_entropy(work, args);
}

// Labels about the row's ends and its middle; every fifth row does not count.
static vkf_test_operand *labels_of(vkf_test_ops *ops, uint32_t rows, uint32_t cols)
{
    int32_t *labels = calloc(rows, sizeof *labels);
    assert_non_null(labels);
    for (uint32_t row = 0; row < rows; row++) {
        const uint32_t places[5] = {cols - 1, 0, cols / 2, row * 7919 % cols, 0};
        labels[row] = row % 5 == 4 ? IGNORED : (int32_t)places[row % 5];
    }
    vkf_test_operand *operand = vkf_test_ids(ops, labels, SHAPE(rows));
    free(labels);
    return operand;
}

// Each element against the error of its probability; what is subtracted from that has none to speak of.
static void check_gradient(vkf_test_ops *ops, const loss_case *c, const float *actual, const float *expected)
{
    const uint32_t rows = c->logits->tensor.shape[0], cols = c->logits->tensor.shape[1];
    for (size_t i = 0; i < (size_t)rows * cols; i++) {
        const int32_t label = c->labels->ids[i / cols];
        const double taken = (double)c->smoothing / cols + (label == (int32_t)(i % cols) ? 1 - c->smoothing : 0);
        const double probability = expected[i] / (double)c->factor + (label == IGNORED ? 0 : taken);
        const double bound = fabs(c->factor) * (PROBABILITY_ERROR * fabs(probability) + 0x1p-22 * taken);
        const bool same_nan = isnan(actual[i]) && isnan(expected[i]);
        if (!same_nan && !(fabs((double)actual[i] - expected[i]) <= bound))
            fail_msg("%s", vkf_test_label(&ops->gpu, "gradient of %u x %u, smoothing %g, [%zu]: %.9g, not %.9g", rows,
                                          cols, (double)c->smoothing, i, (double)actual[i], (double)expected[i]));
    }
}

static void check(vkf_test_ops *ops, const loss_case *c)
{
    const uint32_t rows = c->logits->tensor.shape[0], cols = c->logits->tensor.shape[1];
    vkf_test_operand *loss = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(rows));
    vkf_test_operand *gradient = c->in_place ? c->logits : vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(rows, cols));
    float *losses = vkf_test_floats(rows), *gradients = vkf_test_floats(c->logits->count);
    vkf__cross_entropy_args args = {"loss", SPAN(c->logits), SPAN(c->labels), SPAN(loss), {0}, rows,
                                    cols,   IGNORED,         c->smoothing,    c->factor};
    if (!c->lone)
        args.gradient = SPAN(gradient);
    vkf__ref_cross_entropy(&(vkf__ref_cross_entropy_desc){rows, cols, c->logits->values, c->labels->ids, IGNORED,
                                                          c->smoothing, c->factor, losses, gradients});
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "loss", emit, &args), "cross entropy");
    vkf_test_download(ops, loss);
    assert_close(loss->values, losses, rows, 1.1e-5, 1e-6,
                 vkf_test_label(&ops->gpu, "loss of %u x %u, smoothing %g", rows, cols, (double)c->smoothing));
    if (c->lone) {
        vkf_test_assert_untouched(ops, gradient);
    } else {
        vkf_test_download(ops, gradient);
        check_gradient(ops, c, gradient->values, gradients);
    }
    free(losses);
    free(gradients);
    vkf_test_ops_reset(ops);
}

static void test_cross_entropy_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t cols[] = {1, 2, 3, 63, 64, 65, 511, 512, 513, 1021, 1024, 2049, 50257};
    for (size_t i = 0; i < COUNT_OF(cols); i++) {
        for (uint32_t form = 0; form < 3; form++) {
            const uint32_t rows = cols[i] > 4096 ? 5 : 11;
            const loss_case c = {
                .logits = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 2, SHAPE(rows, cols[i])),
                .labels = labels_of(ops, rows, cols[i]),
                .smoothing = i % 2 == 0 ? 0.1f : 0.0f,
                .factor = form == 0 ? 1.0f : -1024.0f / 9,
                .in_place = form == 1,
                .lone = form == 2,
            };
            check(ops, &c);
        }
    }
}

static void test_cross_entropy_smoothing(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float smoothings[] = {0, 1e-3f, 0.5f, 1};
    for (size_t i = 0; i < COUNT_OF(smoothings); i++) {
        const loss_case c = {
            .logits = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 2, SHAPE(7, 129)),
            .labels = labels_of(ops, 7, 129),
            .smoothing = smoothings[i],
            .factor = 0.25f,
            .in_place = true,
        };
        check(ops, &c);
    }
}

// Far from 0 a row has the loss that it has about 0, and what a row is that does not count matters to none.
static void test_cross_entropy_extremes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float inf = INFINITY;
    const float rows[9][3] = {
        {1e4f, 1e4f + 1, 1e4f - 1},
        {-3e4f, -3e4f + 2, -3e4f},
        {0, 1e30f, -1e30f},
        {2, -inf, 1},
        {1, NAN, 1},
        {inf, 1, 1},
        {NAN, NAN, NAN},
        {1, 2, 3},
        {-inf, -inf, -inf},
    };
    const int32_t labels[9] = {0, 1, 1, 2, 0, 1, IGNORED, 2, 1};
    const loss_case c = {
        .logits = vkf_test_values(ops, VKF_DTYPE_F32, &rows[0][0], SHAPE(9, 3)),
        .labels = vkf_test_ids(ops, labels, SHAPE(9)),
        .factor = 1,
    };
    check(ops, &c);
}

// They are read nowhere, and do not go unnoticed.
static void test_cross_entropy_of_labels_that_are_no_columns(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const int32_t labels[] = {5, -1, 2, INT32_MAX, INT32_MIN};
    const loss_case c = {
        .logits = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(5, 5)),
        .labels = vkf_test_ids(ops, labels, SHAPE(5)),
        .smoothing = 0.1f,
        .factor = 1,
    };
    check(ops, &c);
}

static void test_cross_entropy_of_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *logits = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8));
    vkf_test_operand *labels = labels_of(ops, 2, 8);
    vkf_test_operand *loss = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2));
    vkf_test_operand *gradient = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 8));
    const vkf__cross_entropy_args args = {
        "loss", SPAN(logits), SPAN(labels), SPAN(loss), SPAN(gradient), 0, 8, IGNORED, 0, 1};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "loss", emit, &args), "cross entropy of no rows");
    vkf_test_assert_untouched(ops, loss);
    vkf_test_assert_untouched(ops, gradient);
}

static void test_cross_entropy_is_the_same_in_every_run(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *logits = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 3, SHAPE(9, 3001));
    vkf_test_operand *labels = labels_of(ops, 9, 3001);
    vkf_test_operand *gradients[2], *losses[2];
    for (int i = 0; i < 2; i++) {
        losses[i] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(9));
        gradients[i] = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(9, 3001));
        const vkf__cross_entropy_args args = {
            "loss", SPAN(logits), SPAN(labels), SPAN(losses[i]), SPAN(gradients[i]), 9, 3001, IGNORED, 0.1f, 1};
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "loss", emit, &args), "cross entropy");
        vkf_test_download(ops, losses[i]);
        vkf_test_download(ops, gradients[i]);
    }
    assert_memory_equal(losses[0]->values, losses[1]->values, losses[0]->count * sizeof(float));
    assert_memory_equal(gradients[0]->values, gradients[1]->values, gradients[0]->count * sizeof(float));
}

static void test_cross_entropy_refuses_what_is_too_large(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *logits = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8));
    static const uint32_t shapes[][2] = {{1, (1u << 24) + 1}, {257, 1u << 24}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        const vkf__cross_entropy_args args = {
            "loss", SPAN(logits), {0}, SPAN(logits), {0}, shapes[i][0], shapes[i][1], IGNORED, 0, 1};
        vkf_test_assert_refused(ops, vkf__run_once(ops->gpu.context, "loss", emit, &args), VKF_ERROR_TOO_LARGE,
                                "a large vocabulary");
    }
}

static void test_labels_are_checked_and_counted(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const int32_t good[] = {0, 9, IGNORED, 4}, bad[] = {IGNORED, 3, 10, -1}, negative[] = {1, -1};
    const vkf__host *host = &ops->gpu.context->host;
    uint32_t count = 77;
    assert_int_equal(vkf__check_labels(host, good, 4, 10, IGNORED, &count), VKF_OK);
    assert_int_equal(count, 3);
    vkf_test_assert_refused(ops, vkf__check_labels(host, bad, 4, 10, IGNORED, &count), VKF_ERROR_INVALID_ARGUMENT,
                            "labels[2] is 10");
    vkf_test_assert_refused(ops, vkf__check_labels(host, negative, 2, 10, 0, &count), VKF_ERROR_INVALID_ARGUMENT,
                            "labels[1] is -1");
    assert_int_equal(count, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_cross_entropy_sizes),
        VKF_OPS_TEST(test_cross_entropy_smoothing),
        VKF_OPS_TEST(test_cross_entropy_extremes),
        VKF_OPS_TEST(test_cross_entropy_of_labels_that_are_no_columns),
        VKF_OPS_TEST(test_cross_entropy_of_no_rows),
        VKF_OPS_TEST(test_cross_entropy_is_the_same_in_every_run),
        VKF_OPS_TEST(test_cross_entropy_refuses_what_is_too_large),
        VKF_OPS_TEST(test_labels_are_checked_and_counted),
    };
    return cmocka_run_group_tests_name("op_cross_entropy", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

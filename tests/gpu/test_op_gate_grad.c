// The backward pass of gated linear units against the reference, and the reference against differences.
//
// Bounds. Those of activations and their derivatives, 1e-6 or so (test_op_activation.c), times the two other factors,
// whose product is below 20.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/gate_grad.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gate_grad(work, args);
}

static void check(vkf_test_ops *ops, uint32_t rows, uint32_t dim, vkf_activation activation, bool in_place)
{
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(rows, 2 * dim));
    vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(rows, dim));
    vkf_test_operand *dx = in_place ? x : vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(rows, 2 * dim));
    float *expected = vkf_test_floats(dx->count);
    const vkf__gate_grad_args args = {"gate", SPAN(x), SPAN(dout), SPAN(dx), 0, rows, dim, activation};
    vkf__ref_gate_grad(rows, dim, activation, x->values, dout->values, expected);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "gate", emit, &args), "gate_grad");
    vkf_test_download(ops, dx);
    assert_close(dx->values, expected, dx->count, 2e-5, 2e-6,
                 vkf_test_label(&ops->gpu, "grad of a gate of activation %d, %u x %u%s", (int)activation, rows, dim,
                                in_place ? ", in place" : ""));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_every_activation(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++)
        for (int in_place = 0; in_place < 2; in_place++)
            check(ops, 5, 37, (vkf_activation)activation, in_place);
}

static void test_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t dims[] = {1, 2, 3, 63, 64, 65, 255, 256, 257, 511, 512, 513, 8961};
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        check(ops, 1 + (uint32_t)i % 4, dims[i], VKF_ACTIVATION_SILU, i % 2 == 0);
}

// Rows of dout that lie apart, as where it is a part of wider rows.
static void test_rows_apart(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { ROWS = 3, DIM = 5, APART = 7 };
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(ROWS, 2 * DIM));
    vkf_test_operand *dout = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(ROWS, APART));
    vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(ROWS, 2 * DIM));
    float expected[ROWS * 2 * DIM], compact[ROWS * DIM];
    for (size_t row = 0; row < ROWS; row++)
        memcpy(compact + row * DIM, dout->values + row * APART, DIM * sizeof *compact);
    vkf__ref_gate_grad(ROWS, DIM, VKF_ACTIVATION_GELU_TANH, x->values, compact, expected);
    const vkf__gate_grad_args args = {"gate", SPAN(x), SPAN(dout), SPAN(dx),
                                      APART,  ROWS,    DIM,        VKF_ACTIVATION_GELU_TANH};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "gate", emit, &args), "gate_grad");
    vkf_test_download(ops, dx);
    assert_close(dx->values, expected, dx->count, 2e-5, 2e-6, vkf_test_label(&ops->gpu, "rows of dout apart"));
}

// A row that is no number stays alone.
static void test_rows_do_not_mix(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { ROWS = 3, DIM = 21 };
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(ROWS, 2 * DIM));
    vkf_test_operand *dout = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(ROWS, DIM));
    vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(ROWS, 2 * DIM));
    for (size_t i = 2 * DIM; i < 4 * DIM; i++)
        x->values[i] = NAN;
    vkf_test_upload(ops, x);
    const vkf__gate_grad_args args = {"gate", SPAN(x), SPAN(dout), SPAN(dx), 0, ROWS, DIM, VKF_ACTIVATION_SILU};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "gate", emit, &args), "gate_grad");
    vkf_test_download(ops, dx);
    for (size_t i = 0; i < dx->count; i++)
        assert_int_equal(isnan(dx->values[i]) != 0, i / (2 * DIM) == 1);
}

static void test_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8));
    vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 8));
    const vkf__gate_grad_args args = {"gate", SPAN(x), SPAN(x), SPAN(dx), 0, 0, 4, VKF_ACTIVATION_RELU};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "gate", emit, &args), "gate_grad of no rows");
    vkf_test_assert_untouched(ops, dx);
}

static double gated(vkf_activation activation, double a, double b)
{
    return vkf__ref_activation(activation, a) * b;
}

// Central differences in double of what vkf__ref_gate() computes: wrong by h^2 / 6 times a third derivative below 10,
// and the reference by its rounding to float32.
static void test_reference_is_the_slope_of_the_gate(void **state)
{
    (void)state;
    enum { DIM = 9 };
    const double h = 1e-4;
    float x[2 * DIM], dout[DIM], dx[2 * DIM], expected[2 * DIM];
    for (size_t i = 0; i < DIM; i++) {
        x[i] = (float)i * 0.7f - 3.1f;
        x[DIM + i] = 2.5f - (float)i * 0.4f;
        dout[i] = 0.3f * (float)i - 1;
    }
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++) {
        const vkf_activation kind = (vkf_activation)activation;
        vkf__ref_gate_grad(1, DIM, kind, x, dout, dx);
        for (size_t i = 0; i < DIM; i++) {
            const double a = x[i], b = x[DIM + i], factor = dout[i] / (2 * h);
            expected[i] = (float)(factor * (gated(kind, a + h, b) - gated(kind, a - h, b)));
            expected[DIM + i] = (float)(factor * (gated(kind, a, b + h) - gated(kind, a, b - h)));
        }
        assert_close(dx, expected, COUNT_OF(dx), 1e-6, 1e-6, "the gate's reference");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_every_activation), VKF_OPS_TEST(test_sizes),
        VKF_OPS_TEST(test_rows_apart),       VKF_OPS_TEST(test_rows_do_not_mix),
        VKF_OPS_TEST(test_no_rows),          VKF_OPS_TEST(test_reference_is_the_slope_of_the_gate),
    };
    return cmocka_run_group_tests_name("op_gate_grad", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

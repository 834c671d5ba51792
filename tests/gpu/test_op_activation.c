// Activations and their backward pass against the reference, and the reference's derivatives against differences.
//
// Bounds. Activations: 1e-6 or so by what math.glsl says of erf and tanh, times an x below 5. Derivatives: e = exp(-u)
// is wrong by (3 + 2 u) units in the last place, as Vulkan allows, and u by the rounding of its own 3 products, which
// u e / (1 + e)^2 < 0.3 keeps below 3e-7; times the factors of a GELU, below 3, that is 1e-6.
#include <math.h>
#include <stdlib.h>

#include "op/activation.h"
#include "op/activation_grad.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

static const uint32_t sizes[] = {1, 2, 3, 97, 255, 256, 257, 511, 512, 513, 70001};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_activation(work, args);
}

static vkf_status emit_grad(vkf__work *work, const void *args)
{
    return vkf__emit_activation_grad(work, args);
}

static void check(vkf_test_ops *ops, vkf_test_operand *x, vkf_activation activation, bool in_place)
{
    const uint32_t rows = x->tensor.shape[0], dim = x->tensor.shape[1];
    vkf_test_operand *out = in_place ? x : vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(rows, dim));
    float *expected = vkf_test_floats(x->count);
    const vkf__activation_args args = {"activation", SPAN(x), SPAN(out), rows, dim, activation};
    for (size_t i = 0; i < x->count; i++)
        expected[i] = (float)vkf__ref_activation(activation, x->values[i]);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "activation", emit, &args), "activation");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 3e-6, 1e-6,
                 vkf_test_label(&ops->gpu, "activation %d, %u x %u%s", (int)activation, rows, dim,
                                in_place ? ", in place" : ""));
    free(expected);
    vkf_test_ops_reset(ops);
}

// `into`: what dx is; NULL: a tensor of its own.
static void check_grad(vkf_test_ops *ops, vkf_test_operand *x, vkf_test_operand *dout, vkf_test_operand *into,
                       vkf_activation activation, bool accumulate)
{
    const uint32_t rows = x->tensor.shape[0], dim = x->tensor.shape[1];
    const float before = accumulate ? 0.5f : NAN;
    vkf_test_operand *dx = into ? into : vkf_test_constant(ops, VKF_DTYPE_F32, before, SHAPE(rows, dim));
    float *expected = vkf_test_floats(x->count);
    const vkf__activation_grad_args args = {"grad", SPAN(x), SPAN(dout), SPAN(dx), rows, dim, activation, accumulate};
    for (size_t i = 0; i < x->count; i++)
        expected[i] =
            (float)(dout->values[i] * vkf__ref_activation_slope(activation, x->values[i])) + (accumulate ? before : 0);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "grad", emit_grad, &args), "grad");
    vkf_test_download(ops, dx);
    // A dout is below 6.
    assert_close(dx->values, expected, dx->count, 6e-6, 1e-6,
                 vkf_test_label(&ops->gpu, "grad of activation %d, %u x %u%s%s", (int)activation, rows, dim,
                                accumulate ? ", added" : "", into ? ", in place" : ""));
    free(expected);
    vkf_test_ops_reset(ops);
}

static vkf_test_operand *normal(vkf_test_ops *ops, float deviation, uint32_t rows, uint32_t dim)
{
    return vkf_test_normal(ops, VKF_DTYPE_F32, 0, deviation, SHAPE(rows, dim));
}

static void test_every_activation(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++) {
        check(ops, normal(ops, 2, 5, 137), (vkf_activation)activation, false);
        check(ops, normal(ops, 2, 5, 137), (vkf_activation)activation, true);
        for (int added = 0; added < 2; added++)
            check_grad(ops, normal(ops, 2, 5, 137), normal(ops, 1, 5, 137), NULL, (vkf_activation)activation, added);
    }
}

static void test_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        check(ops, normal(ops, 1, 1 + (uint32_t)i % 3, sizes[i]), VKF_ACTIVATION_GELU_ERF, false);
        check_grad(ops, normal(ops, 1, 1 + (uint32_t)i % 3, sizes[i]), normal(ops, 1, 1 + (uint32_t)i % 3, sizes[i]),
                   NULL, VKF_ACTIVATION_GELU_ERF, i % 2 == 0);
    }
}

static void test_grad_into_its_inputs(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = normal(ops, 1, 3, 211);
    check_grad(ops, x, normal(ops, 1, 3, 211), x, VKF_ACTIVATION_GELU_TANH, false);
    vkf_test_operand *dout = normal(ops, 1, 3, 211);
    check_grad(ops, normal(ops, 1, 3, 211), dout, dout, VKF_ACTIVATION_GELU_TANH, false);
}

// Far from 0 a derivative is its limit, at infinity too. NaN stays NaN. ReLU has 0 at 0.
static void test_grad_extremes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float values[] = {-1e30f, -200, -30, 0, 30, 200, 1e30f, NAN};
    const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++)
        check_grad(ops, vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(1, 8)),
                   vkf_test_values(ops, VKF_DTYPE_F32, ones, SHAPE(1, 8)), NULL, (vkf_activation)activation, false);
    static const vkf_activation gated[] = {VKF_ACTIVATION_RELU, VKF_ACTIVATION_GELU_ERF, VKF_ACTIVATION_GELU_TANH,
                                           VKF_ACTIVATION_SILU};
    const float infinities[] = {-INFINITY, INFINITY}, limits[] = {0, 1};
    for (size_t i = 0; i < COUNT_OF(gated); i++) {
        vkf_test_operand *x = vkf_test_values(ops, VKF_DTYPE_F32, infinities, SHAPE(1, 2));
        vkf_test_operand *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(1, 2));
        const vkf__activation_grad_args args = {
            "grad",   SPAN(x), SPAN(vkf_test_values(ops, VKF_DTYPE_F32, ones, SHAPE(1, 2))), SPAN(dx), 1, 2,
            gated[i], false};
        vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "grad", emit_grad, &args), "grad");
        vkf_test_download(ops, dx);
        assert_close(dx->values, limits, 2, 1e-6, 0, vkf_test_label(&ops->gpu, "grad %d at infinity", (int)gated[i]));
        vkf_test_ops_reset(ops);
    }
}

static void test_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = normal(ops, 1, 2, 8), *dx = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 8));
    const vkf__activation_args args = {"none", SPAN(x), SPAN(dx), 0, 8, VKF_ACTIVATION_RELU};
    const vkf__activation_grad_args grad = {"none", SPAN(x), SPAN(x), SPAN(dx), 0, 8, VKF_ACTIVATION_RELU, false};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "none", emit, &args), "activation of no rows");
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "none", emit_grad, &grad), "grad of no rows");
    vkf_test_assert_untouched(ops, dx);
}

// Central differences of the forward reference. With h = 1e-4 they are wrong by h^2 / 6 times a third derivative below
// 5, and by 1e-16 / h.
static void test_reference_has_the_slope_of_differences(void **state)
{
    (void)state;
    const double h = 1e-4;
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++)
        for (double x = -6.01; x < 6; x += 0.13) {
            const double above = vkf__ref_activation((vkf_activation)activation, x + h);
            const double difference = (above - vkf__ref_activation((vkf_activation)activation, x - h)) / (2 * h);
            const double slope = vkf__ref_activation_slope((vkf_activation)activation, x);
            if (fabs(slope - difference) > 2e-8)
                fail_msg("activation %d at %g: slope %.10g, difference %.10g", activation, x, slope, difference);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_every_activation),
        VKF_OPS_TEST(test_sizes),
        VKF_OPS_TEST(test_grad_into_its_inputs),
        VKF_OPS_TEST(test_grad_extremes),
        VKF_OPS_TEST(test_no_rows),
        VKF_OPS_TEST(test_reference_has_the_slope_of_differences),
    };
    return cmocka_run_group_tests_name("op_activation", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

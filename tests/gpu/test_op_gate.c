// Gated linear units against the reference: every activation, sizes about the workgroups', half storage both ways.
#include <math.h>
#include <stdlib.h>

#include "op/gate.h"
#include "op/run_once.h"
#include "reference/reference.h"
#include "support/op_fixture.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gate(work, args);
}

static void check(vkf_test_ops *ops, vkf_test_operand *x, vkf_activation activation)
{
    const uint32_t rows = x->tensor.shape[0], dim = x->tensor.shape[1] / 2;
    bool half = x->tensor.dtype == VKF_DTYPE_F16;
    vkf_test_operand *out = vkf_test_output(ops, x->tensor.dtype, SHAPE(rows, dim));
    float *expected = vkf_test_floats(out->count);
    const vkf__gate_args args = {"gate", SPAN(x), SPAN(out), 0, rows, dim, activation};
    vkf__ref_gate(rows, dim, activation, x->values, expected);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "gate", emit, &args), "gate");
    vkf_test_download(ops, out);
    // The activations' own bounds, 1e-6 or so (the driver's exp among them), times the other factor, which is below 10.
    assert_close(out->values, expected, out->count, 1e-5, half ? 0x1p-11 + 1e-5 : 1e-5,
                 vkf_test_label(&ops->gpu, "gate of activation %d, %s, %u x %u", (int)activation,
                                vkf_dtype_name(x->tensor.dtype), rows, dim));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void test_gate_activations_and_types(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++)
        for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++)
            check(ops, vkf_test_normal(ops, (vkf_dtype)dtype, 0, 2, SHAPE(5, 2 * 37)), (vkf_activation)activation);
}

static void test_gate_sizes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t dims[] = {1, 2, 3, 63, 64, 65, 127, 128, 129, 1024, 8961};
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++)
            check(ops, vkf_test_normal(ops, (vkf_dtype)dtype, 0, 1, SHAPE(1 + (uint32_t)i % 4, 2 * dims[i])),
                  VKF_ACTIVATION_SILU);
}

// Large values on either side, and what is no number.
static void test_gate_extremes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const float values[] = {1e30f, -1e30f, 100, -100, NAN, 1, INFINITY, 0, 2, 2, 2, 2, 2, NAN, 3, -1};
    check(ops, vkf_test_values(ops, VKF_DTYPE_F32, values, SHAPE(1, 16)), VKF_ACTIVATION_SILU);
}

static void test_gate_of_no_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    vkf_test_operand *x = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(2, 8));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 4));
    const vkf__gate_args args = {"gate", SPAN(x), SPAN(out), 0, 0, 4, VKF_ACTIVATION_RELU};
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "gate", emit, &args), "gate of no rows");
    vkf_test_assert_untouched(ops, out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gate_activations_and_types),
        VKF_OPS_TEST(test_gate_sizes),
        VKF_OPS_TEST(test_gate_extremes),
        VKF_OPS_TEST(test_gate_of_no_rows),
    };
    const struct CMUnitTest packed[] = {
        VKF_OPS_TEST(test_gate_activations_and_types),
        VKF_OPS_TEST(test_gate_sizes),
    };
    int failed = cmocka_run_group_tests_name("op_gate", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed += cmocka_run_group_tests_name("op_gate packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}

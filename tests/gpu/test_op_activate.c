// Activations as an operator of their own, against their formulas in double.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/activation_value.h"
#include "support/op_fixture.h"

typedef struct activate_case {
    vkf_activation activation;
    vkf_dtype dtype;
    float alpha;
    bool in_place;
} activate_case;

// 2^-11 of a half's rounding, or what math.glsl says of erf and tanh times an x below 4.
static void assert_activated(vkf_test_ops *ops, const activate_case *c, const vkf_test_operand *out,
                             const float *expected)
{
    const double bound = c->dtype == VKF_DTYPE_F16 ? 6e-4 : 1e-6;
    assert_close(out->values, expected, out->count, c->dtype == VKF_DTYPE_F16 ? 6e-4 : 3e-6, bound,
                 vkf_test_label(&ops->gpu, "activation %d of %g, %zu elements of %s%s", (int)c->activation,
                                (double)c->alpha, out->count, vkf_dtype_name(c->dtype),
                                c->in_place ? ", in place" : ""));
}

static void run(vkf_test_ops *ops, const activate_case *c, vkf_test_operand *x)
{
    vkf_test_operand *out = c->in_place ? x : vkf_test_output(ops, c->dtype, x->tensor.rank, x->tensor.shape);
    const vkf_activate_desc desc = {x->tensor, out->tensor, c->activation, c->alpha};
    const double alpha = (double)(c->alpha != 0 ? c->alpha : vkf__activation_alpha(c->activation));
    float *expected = vkf_test_floats(x->count);
    for (size_t i = 0; i < x->count; i++)
        expected[i] = (float)vkf__activation_value_by(c->activation, (double)x->values[i], alpha);
    vkf_test_assert_ok(ops, vkf_activate(ops->gpu.context, &desc), "vkf_activate");
    vkf_test_download(ops, out);
    assert_activated(ops, c, out, expected);
    free(expected);
    vkf_test_ops_reset(ops);
}

// One element, primes, and counts about what a workgroup takes: 256, 512 or 4096 elements.
static void test_activate_any_count(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t counts[] = {1, 7, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097, 70001};
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        const activate_case c = {
            .activation = VKF_ACTIVATION_MISH, .dtype = i % 2 ? VKF_DTYPE_F16 : VKF_DTYPE_F32, .in_place = i % 3 == 0};
        run(ops, &c, vkf_test_normal(ops, c.dtype, 0, 2, SHAPE(counts[i])));
    }
}

static void test_activate_each_kind(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float alphas[] = {0, 0.25f, -2};
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++)
        for (size_t i = 0; i < COUNT_OF(alphas); i++)
            for (int dtype = VKF_DTYPE_F32; dtype <= VKF_DTYPE_F16; dtype++) {
                const activate_case c = {(vkf_activation)activation, (vkf_dtype)dtype, alphas[i], i == 1};
                run(ops, &c, vkf_test_normal(ops, c.dtype, 0, 2, SHAPE(3, 5, 7, 2)));
            }
}

// Where pieces meet, beyond where exponentials and products overflow, and what is no number.
static void test_activate_extreme_values(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float x[] = {0,  -0.0f, 3,  -3,  2.9999f, -2.9999f, 6,    -6,    0.9f,  -0.9f,    9.5f,      -9.5f,
                              20, -20,   88, -88, 104,     -104,     1e4f, -1e4f, 3e38f, INFINITY, -INFINITY, NAN};
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++) {
        const activate_case c = {.activation = (vkf_activation)activation, .dtype = VKF_DTYPE_F32};
        run(ops, &c, vkf_test_values(ops, VKF_DTYPE_F32, x, SHAPE(COUNT_OF(x))));
    }
}

// exp(x) - 1 would be wrong there by 6e-8, which is all of it.
static void test_elu_near_0_keeps_its_relative_accuracy(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    float x[40], expected[COUNT_OF(x)];
    for (size_t i = 0; i < COUNT_OF(x); i++) {
        x[i] = -ldexpf(1.3f, -(int)i / 2);
        expected[i] = (float)expm1((double)x[i]);
    }
    vkf_test_operand *in = vkf_test_values(ops, VKF_DTYPE_F32, x, SHAPE(COUNT_OF(x)));
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(COUNT_OF(x)));
    const vkf_activate_desc desc = {in->tensor, out->tensor, VKF_ACTIVATION_ELU, 0};
    vkf_test_assert_ok(ops, vkf_activate(ops->gpu.context, &desc), "vkf_activate");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, COUNT_OF(x), 0, 5e-7, vkf_test_label(&ops->gpu, "ELU near 0"));
}

#define TESTS VKF_OPS_TEST(test_activate_any_count), VKF_OPS_TEST(test_activate_each_kind)

int main(void)
{
    const struct CMUnitTest tests[] = {TESTS, VKF_OPS_TEST(test_activate_extreme_values),
                                       VKF_OPS_TEST(test_elu_near_0_keeps_its_relative_accuracy)};
    const struct CMUnitTest packed[] = {TESTS};
    int failed = cmocka_run_group_tests_name("op_activate", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed +=
        cmocka_run_group_tests_name("op_activate packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}

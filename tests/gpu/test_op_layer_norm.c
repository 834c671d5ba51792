// vkf_layer_norm() against the reference, LayerNorm and RMSNorm, with and without residuals, in both storage types.
//
// Bounds. f32: 1e-5 absolute and relative. f16: the result's rounding, 2^-11 relative. Where a stage binds four
// buffers, x + residual (or LN(x)) passes through the output and is rounded there once more: its values are below 8 in
// these tests, so 2^-11 * 8 absolute, divided by a deviation of about 1.4.
#include <math.h>
#include <stdlib.h>

#include "support/op_fixture.h"
#include "support/reference.h"

typedef struct norm_case {
    uint32_t rows, dim;
    vkf_dtype dtype, weight_dtype;
    bool weight, bias;
    vkf_residual_order order;
    bool in_place;
    float eps;
    float mean; // of x
    bool rms;
} norm_case;

typedef struct norm_operands {
    vkf_test_operand *x, *weight, *bias, *residual, *out;
} norm_operands;

static norm_operands make_operands(vkf_test_ops *ops, const norm_case *c)
{
    norm_operands o = {.x = vkf_test_normal(ops, c->dtype, c->mean, 1, SHAPE(c->rows, c->dim))};
    o.out = c->in_place ? o.x : vkf_test_output(ops, c->dtype, SHAPE(c->rows, c->dim));
    if (c->weight)
        o.weight = vkf_test_uniform(ops, c->weight_dtype, 0.5f, 1.5f, SHAPE(c->dim));
    if (c->bias)
        o.bias = vkf_test_uniform(ops, c->weight_dtype, -1, 1, SHAPE(c->dim));
    if (c->order != VKF_RESIDUAL_NONE)
        o.residual = vkf_test_normal(ops, c->dtype, 0, 1, SHAPE(c->rows, c->dim));
    return o;
}

// What an eps of 0 stands for: PyTorch's defaults.
static float eps_of(const norm_case *c)
{
    return c->eps > 0 ? c->eps : c->rms ? 0x1p-23f : 1e-5f;
}

static float *expect(const norm_case *c, const norm_operands *o)
{
    float *expected = vkf_test_floats(o->out->count);
    vkf_ref_layer_norm(&(vkf_ref_layer_norm_desc){
        .rows = c->rows,
        .dim = c->dim,
        .x = o->x->values,
        .weight = vkf_test_values_of(o->weight),
        .bias = vkf_test_values_of(o->bias),
        .residual = vkf_test_values_of(o->residual),
        .out = expected,
        .eps = eps_of(c),
        .residual_order = c->order,
        .rms = c->rms,
    });
    return expected;
}

static void check(vkf_test_ops *ops, const norm_case *c, const norm_operands *o, double atol, double rtol)
{
    float *expected = expect(c, o);
    const vkf_layer_norm_desc desc = {
        .x = o->x->tensor,
        .weight = vkf_test_tensor_of(o->weight),
        .bias = vkf_test_tensor_of(o->bias),
        .residual = vkf_test_tensor_of(o->residual),
        .out = o->out->tensor,
        .eps = c->eps,
        .residual_order = c->order,
        .rms = c->rms,
    };
    vkf_test_assert_ok(ops, vkf_layer_norm(ops->gpu.context, &desc), "vkf_layer_norm");
    vkf_test_download(ops, o->out);
    assert_close(o->out->values, expected, o->out->count, atol, rtol,
                 vkf_test_label(&ops->gpu, "%s norm %s %s, %u x %u, weight %d, bias %d, residual %d, eps %g, mean %g%s",
                                c->rms ? "RMS" : "layer", vkf_dtype_name(c->dtype), vkf_dtype_name(c->weight_dtype),
                                c->rows, c->dim, c->weight, c->bias, (int)c->order, (double)c->eps, (double)c->mean,
                                c->in_place ? ", in place" : ""));
    free(expected);
    vkf_test_ops_reset(ops);
}

static void run_one(vkf_test_ops *ops, const norm_case *c)
{
    vkf_device_info info;
    vkf_context_get_device_info(ops->gpu.context, &info);
    bool half = c->dtype == VKF_DTYPE_F16;
    bool two_passes = half && c->order != VKF_RESIDUAL_NONE && info.max_storage_buffers < 5;
    const norm_operands o = make_operands(ops, c);
    check(ops, c, &o, 1e-5 + (two_passes ? 0x1p-11 * 8 : 0), half ? 0x1p-11 + 1e-5 : 1e-5);
}

static void run(vkf_test_ops *ops, const norm_case *c)
{
    norm_case rms = *c;
    rms.rms = true;
    run_one(ops, c);
    run_one(ops, &rms);
}

static void test_layer_norm_of_100000(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    run(ops, &(norm_case){.rows = 2, .dim = 100000, .eps = 1e-5f});
}

static const vkf_dtype TYPES[][2] = {
    {VKF_DTYPE_F32, VKF_DTYPE_F32},
    {VKF_DTYPE_F32, VKF_DTYPE_F16},
    {VKF_DTYPE_F32, VKF_DTYPE_BF16},
    {VKF_DTYPE_F16, VKF_DTYPE_F16},
};

static void test_layer_norm_parameters_and_residuals(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t t = 0; t < COUNT_OF(TYPES); t++)
        for (int order = 0; order < VKF_RESIDUAL_ORDER_COUNT; order++)
            for (int variant = 0; variant < 8; variant++)
                run(ops, &(norm_case){.rows = 3,
                                      .dim = 37,
                                      .dtype = TYPES[t][0],
                                      .weight_dtype = TYPES[t][1],
                                      .weight = variant & 1,
                                      .bias = variant & 2,
                                      .order = (vkf_residual_order)order,
                                      .in_place = variant & 4,
                                      .eps = 1e-5f});
}

static void test_layer_norm_eps(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float eps[] = {0, 1e-12f, 1e-5f, 1, 100};
    for (size_t i = 0; i < COUNT_OF(eps); i++)
        run(ops, &(norm_case){.rows = 2, .dim = 21, .weight = true, .bias = true, .eps = eps[i]});
}

// A constant row has no variance: eps alone keeps it finite.
static void test_layer_norm_constant_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int default_eps = 0; default_eps < 2; default_eps++) {
        const norm_case c = {.rows = 2, .dim = 64, .eps = default_eps ? 0 : 1e-3f};
        const norm_operands o = {.x = vkf_test_constant(ops, VKF_DTYPE_F32, 3, SHAPE(2, 64)),
                                 .out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 64))};
        check(ops, &c, &o, 0, 0);
    }
}

// The same of zeros where no mean is taken.
static void test_rms_norm_zero_rows(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int default_eps = 0; default_eps < 2; default_eps++) {
        const norm_case c = {.rows = 2, .dim = 64, .eps = default_eps ? 0 : 1e-3f, .rms = true};
        const norm_operands o = {.x = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(2, 64)),
                                 .out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(2, 64))};
        check(ops, &c, &o, 0, 0);
    }
}

// Large and tiny values: squares stay within float32 as long as they lie within +-1e18.
static void test_layer_norm_magnitudes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float factors[] = {1e15f, 1e4f, 1e-3f, 1e-10f};
    for (size_t i = 0; i < 2 * COUNT_OF(factors); i++) {
        const norm_case c = {.rows = 2, .dim = 70, .eps = 1e-12f, .rms = i % 2};
        const norm_operands o = make_operands(ops, &c);
        for (size_t j = 0; j < o.x->count; j++)
            o.x->values[j] *= factors[i / 2];
        vkf_test_upload(ops, o.x);
        check(ops, &c, &o, 1e-5, 1e-5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_layer_norm_of_100000), VKF_OPS_TEST(test_layer_norm_parameters_and_residuals),
        VKF_OPS_TEST(test_layer_norm_eps),       VKF_OPS_TEST(test_layer_norm_constant_rows),
        VKF_OPS_TEST(test_rms_norm_zero_rows),   VKF_OPS_TEST(test_layer_norm_magnitudes),
    };
    // Without 16-bit storage: what touches half storage.
    const struct CMUnitTest packed[] = {VKF_OPS_TEST(test_layer_norm_parameters_and_residuals)};
    int failed = cmocka_run_group_tests_name("op_layer_norm", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed +=
        cmocka_run_group_tests_name("op_layer_norm packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}

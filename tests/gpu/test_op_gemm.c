// vkf_gemm() in f32 against the reference. Half storage is in test_op_gemm_f16.c, slices and bad arguments in
// test_op_gemm_limits.c.
//
// Bounds: inputs lie in -1 .. 1 and k <= 300, so that float32 sums are within 2e-5 of the double ones.
#include <math.h>
#include <stdlib.h>

#include "op/activation_value.h"
#include "support/gemm_case.h"

#define ATOL 2e-5
#define RTOL 1e-5

static const vkf_test_gemm_types F32 = {VKF_DTYPE_F32, VKF_DTYPE_F32, VKF_DTYPE_F32};

static void run(vkf_test_ops *ops, const vkf_test_gemm_case *gemm)
{
    vkf_test_gemm_run(ops, &F32, gemm, false, ATOL, RTOL);
}

// One, odd, prime, and around every tile size: 8, 32, 64 rows or columns, depths of 16 and 32; and around the 48 from
// which large tiles are taken.
static const uint32_t SHAPES[][3] = {
    {1, 1, 1},    {1, 33, 32},  {1, 257, 64}, {2, 3, 100},   {7, 31, 33},  {8, 32, 32},  {8, 65, 31},
    {9, 33, 17},  {31, 31, 15}, {32, 32, 16}, {33, 33, 17},  {37, 41, 43}, {47, 64, 16}, {48, 48, 16},
    {63, 63, 15}, {64, 64, 16}, {65, 65, 17}, {97, 50, 101}, {129, 1, 3},  {64, 128, 1}, {3, 5, 300},
};

static void test_gemm_shapes(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < 4 * COUNT_OF(SHAPES); i++)
        run(ops, &(vkf_test_gemm_case){.m = SHAPES[i / 4][0],
                                       .n = SHAPES[i / 4][1],
                                       .k = SHAPES[i / 4][2],
                                       .transpose_a = i & 1,
                                       .transpose_b = i & 2,
                                       .alpha = 1});
}

static void test_gemm_batches(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t sizes[][4] = {{1, 5, 7, 11}, {3, 5, 7, 11}, {2, 33, 34, 35}, {5, 1, 1, 2}, {2, 65, 66, 5}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        for (int variant = 0; variant < 8; variant++)
            run(ops, &(vkf_test_gemm_case){.batch = sizes[i][0],
                                           .m = sizes[i][1],
                                           .n = sizes[i][2],
                                           .k = sizes[i][3],
                                           .b_shared = variant & 1,
                                           .transpose_a = variant & 2,
                                           .transpose_b = variant & 4,
                                           .alpha = 1});
    }
}

static void test_gemm_alpha_and_beta(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float factors[][2] = {{1, 1}, {0.5f, -2}, {-1.25f, 0.125f}, {0, 3}, {2, 0}, {0, 0}};
    for (size_t i = 0; i < COUNT_OF(factors); i++) {
        for (int in_place = 0; in_place < 2; in_place++)
            run(ops, &(vkf_test_gemm_case){.batch = 2,
                                           .m = 9,
                                           .n = 13,
                                           .k = 17,
                                           .alpha = factors[i][0],
                                           .beta = factors[i][1],
                                           .c = true,
                                           .c_in_place = in_place});
    }
}

// Everything that may be added, before and after every activation.
static const vkf_test_gemm_case EPILOGUES[] = {
    {.alpha = 2, .bias = true},
    {.alpha = 1, .beta = -0.5f, .c = true, .bias = true},
    {.alpha = 1, .beta = 2, .c = true, .c_in_place = true, .bias = true},
    {.alpha = -1, .residual = true},
    {.alpha = 1, .residual = true, .residual_in_place = true},
};

static void test_gemm_activations(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++) {
        for (size_t i = 0; i < COUNT_OF(EPILOGUES); i++) {
            vkf_test_gemm_case gemm = EPILOGUES[i];
            gemm.m = 11;
            gemm.n = 35;
            gemm.k = 40; // sums of about -6 .. 6: both ends of the activations
            gemm.transpose_b = true;
            gemm.activation = (vkf_activation)activation;
            run(ops, &gemm);
        }
    }
}

static void test_gemm_c_with_residual(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int variant = 0; variant < 3; variant++)
        run(ops, &(vkf_test_gemm_case){.batch = 2,
                                       .m = 3,
                                       .n = 5,
                                       .k = 7,
                                       .alpha = 1,
                                       .beta = -1.5f,
                                       .bias = true,
                                       .c = true,
                                       .residual = true,
                                       .c_in_place = variant == 1,
                                       .residual_in_place = variant == 2});
}

// Where an activation turns, and beyond where its exponentials overflow: the product is a column times (1). The bias of
// 0 lets the test share its pipelines with the one above.
static void test_gemm_activation_of_extreme_values(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const float x[] = {0,  -0.0f, 1e-30f, -1e-30f, 1e-4f, -1e-4f, 0.9f,   1,    -1,    4,
                              -4, 9.5f,  -9.5f,  20,      -20,   88,     -88.7f, 1e4f, -1e4f, 3e38f};
    const float one = 1;
    for (int activation = 0; activation < VKF_ACTIVATION_COUNT; activation++) {
        vkf_test_operand *a = vkf_test_values(ops, VKF_DTYPE_F32, x, SHAPE(COUNT_OF(x), 1));
        vkf_test_operand *b = vkf_test_values(ops, VKF_DTYPE_F32, &one, SHAPE(1, 1));
        vkf_test_operand *bias = vkf_test_constant(ops, VKF_DTYPE_F32, 0, SHAPE(1));
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(COUNT_OF(x), 1));
        const vkf_gemm_desc desc = {a->tensor,
                                    b->tensor,
                                    .bias = bias->tensor,
                                    .out = out->tensor,
                                    .transpose_b = true,
                                    .alpha = 1,
                                    .activation = (vkf_activation)activation};
        float expected[COUNT_OF(x)];
        for (size_t i = 0; i < COUNT_OF(x); i++)
            expected[i] = (float)vkf__activation_value(desc.activation, (double)x[i]);
        vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "vkf_gemm");
        vkf_test_download(ops, out);
        assert_close(out->values, expected, COUNT_OF(x), 2e-6, RTOL,
                     vkf_test_label(&ops->gpu, "activation %d", activation));
        vkf_test_ops_reset(ops);
    }
}

// beta 0 reads neither c nor what the output held; alpha VKF_ZERO reads neither a nor b, and 0 is 1.
static void test_gemm_zero_factors_do_not_read(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (int which = 0; which < 3; which++) {
        vkf_test_operand *a = vkf_test_constant(ops, VKF_DTYPE_F32, which == 2 ? NAN : 2, SHAPE(9, 3));
        vkf_test_operand *b = vkf_test_constant(ops, VKF_DTYPE_F32, which == 2 ? INFINITY : 4, SHAPE(3, 5));
        vkf_test_operand *c = vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(9, 5));
        const vkf_gemm_desc desc = {.a = a->tensor,
                                    .b = b->tensor,
                                    .c = which == 1 ? (vkf_tensor){0} : c->tensor,
                                    .out = c->tensor,
                                    .alpha = which == 2 ? VKF_ZERO : 0.0f};
        vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "vkf_gemm");
        vkf_test_download(ops, c);
        for (size_t i = 0; i < c->count; i++)
            assert_true(c->values[i] == (which == 2 ? 0.0f : 24.0f));
        vkf_test_ops_reset(ops);
    }
}

// Deeper than one dispatch may sum: the parts must meet, and c, bias and activation take part once. Whole numbers of
// this size add up exactly.
static void test_gemm_cut_in_depth(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t rows[] = {3, 1, 9, 3};
    for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
        const vkf_test_gemm_case deep = {.m = rows[i],
                                         .n = 5,
                                         .k = 2 * 131072 + 1,
                                         .transpose_a = i & 1,
                                         .transpose_b = i & 2,
                                         .alpha = 1,
                                         .beta = 2,
                                         .c = true,
                                         .bias = true,
                                         .activation = VKF_ACTIVATION_RELU};
        vkf_test_gemm_run(ops, &F32, &deep, true, 0, 0);
    }
}

// NaN stays in its row, an infinity in its column, through tiles whose other rows and columns are padding.
static void test_gemm_nan_and_infinity_stay_where_they_belong(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const uint32_t sizes[][3] = {{5, 6, 3}, {34, 33, 17}, {65, 49, 16}};
    for (size_t s = 0; s < COUNT_OF(sizes); s++) {
        const uint32_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        vkf_test_operand *a = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(m, k));
        vkf_test_operand *b = vkf_test_constant(ops, VKF_DTYPE_F32, 1, SHAPE(k, n));
        vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(m, n));
        a->values[(m - 2) * k + 1] = NAN;
        b->values[(k - 1) * n + 2] = INFINITY;
        vkf_test_upload(ops, a);
        vkf_test_upload(ops, b);
        const vkf_gemm_desc desc = {a->tensor, b->tensor, .out = out->tensor, .alpha = 1};
        vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "vkf_gemm");
        vkf_test_download(ops, out);
        for (uint32_t i = 0; i < m * n; i++) {
            float expected = i / n == m - 2 ? NAN : i % n == 2 ? INFINITY : (float)k;
            assert_close(&out->values[i], &expected, 1, 0, 0, vkf_test_label(&ops->gpu, "element %u of %u", i, m * n));
        }
        vkf_test_ops_reset(ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_gemm_shapes),
        VKF_OPS_TEST(test_gemm_batches),
        VKF_OPS_TEST(test_gemm_alpha_and_beta),
        VKF_OPS_TEST(test_gemm_activations),
        VKF_OPS_TEST(test_gemm_c_with_residual),
        VKF_OPS_TEST(test_gemm_activation_of_extreme_values),
        VKF_OPS_TEST(test_gemm_zero_factors_do_not_read),
        VKF_OPS_TEST(test_gemm_cut_in_depth),
        VKF_OPS_TEST(test_gemm_nan_and_infinity_stay_where_they_belong),
    };
    return cmocka_run_group_tests_name("op_gemm", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

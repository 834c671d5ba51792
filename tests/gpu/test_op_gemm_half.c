// vkf_gemm() by the kernels that sum short runs of products in f16: within what VKF_PRECISION_F16_SUMS promises, on
// random values and on those that lose the most, and taken where that is allowed.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "support/gemm_case.h"

#define H VKF_DTYPE_F16
#define F VKF_DTYPE_F32

static const vkf_test_gemm_types HALF_TO_FLOAT = {H, H, F};

// Opens the device with a precision and a variant, as one that is no processor. False where no kernel sums in f16.
static bool open_half(vkf_test_ops *ops, vkf_precision precision, const char *variant)
{
    vkf_context_desc desc = {.variant = variant, .precision = precision};
    memset(ops, 0, sizeof *ops);
    assert_int_equal(vkf_test_gpu_open(&ops->gpu, &desc), 0);
    if (!ops->gpu.context)
        return false;
    vkf__caps *caps = &ops->gpu.context->device.plan.caps;
    caps->traits = (vkf__traits){.cores = 64, .halves_outrun_floats = true};
    caps->matrix = (vkf__caps_matrix){0};
    return caps->shader_float16 && caps->storage_16bit;
}

static void assert_kernel(const vkf_test_ops *ops, const char *name)
{
    const char *kernel = vkf_context_get_last_op_kernel(ops->gpu.context);
    if (strncmp(kernel, name, strlen(name)) != 0)
        fail_msg("%s took the product, not %s", kernel, name);
}

// A product of a (m, k) and b (n, k) by the small kernel. Fails where an element is off by more than is promised, and
// returns the largest error as a part of the sum of |a * b|.
static double run_within_bound(vkf_test_ops *ops, const vkf_test_operand *a, const vkf_test_operand *b)
{
    const uint32_t m = a->tensor.shape[0], n = b->tensor.shape[0], k = a->tensor.shape[1];
    // Each f32 activation is rounded once, as VKF_PRECISION_F16 permits; the rest is for sums in float32.
    const double bound = (a->tensor.dtype == F ? 34 : 33) * 0x1p-11 + 1e-5;
    double largest = 0;
    vkf_test_operand *out = vkf_test_output(ops, F, SHAPE(m, n));
    const vkf_gemm_desc desc = {.a = a->tensor, .b = b->tensor, .out = out->tensor, .transpose_b = true, .alpha = 1};
    vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "vkf_gemm");
    assert_kernel(ops, "gemm_half");
    vkf_test_download(ops, out);
    for (size_t i = 0; i < (size_t)m * n; i++) {
        double sum = 0, size = 0;
        for (uint32_t at = 0; at < k; at++) {
            const double product = (double)a->values[i / n * k + at] * b->values[i % n * k + at];
            sum += product;
            size += fabs(product);
        }
        // Below 2^-14 a product and the sum that it is added to may each be off by that.
        const double error = fabs(out->values[i] - sum);
        if (!(error <= bound * size + k * 0x1p-13))
            fail_msg("element %zu of %u x %u x %u is %g, expected %.9g within %g: seed %llu", i, m, n, k,
                     (double)out->values[i], sum, bound * size, (unsigned long long)ops->gpu.seed);
        largest = size > 0 && error / size > largest ? error / size : largest;
    }
    return largest;
}

// The error of a sum does not grow with its length: a single f16 sum of positive values would end at 2048.
static void test_half_sums_of_random_values_are_within_the_bound(void **state)
{
    static const uint32_t shapes[][3] = {{1, 1, 1}, {7, 13, 31}, {32, 33, 32}, {33, 31, 97}, {3, 5, 65537}};
    static const float ranges[][2] = {{-1, 1}, {0, 1}, {-40, 40}, {0x1p-13f, 0x1p-9f}};
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    for (vkf_dtype type = F; type <= H; type++) {
        if (open_half(&ops, VKF_PRECISION_F16_SUMS, "gemm_half")) {
            for (size_t i = 0; i < COUNT_OF(shapes) * COUNT_OF(ranges); i++) {
                const uint32_t *s = shapes[i / COUNT_OF(ranges)];
                const float *range = ranges[i % COUNT_OF(ranges)];
                vkf_test_operand *a = vkf_test_uniform(&ops, type, range[0], range[1], SHAPE(s[0], s[2]));
                vkf_test_operand *b = vkf_test_uniform(&ops, H, range[0], range[1], SHAPE(s[1], s[2]));
                (void)run_within_bound(&ops, a, b);
                vkf_test_ops_reset(&ops);
            }
        }
        vkf_test_ops_close(&ops);
    }
}

// The first product of each run is large, and all others are a little less than half of what it can still take up.
static void test_half_sums_that_lose_the_most_are_within_the_bound(void **state)
{
    enum { K = 4096, TILE = 32 };
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (open_half(&ops, VKF_PRECISION_F16_SUMS, "gemm_half.f16_f16_f32/small")) {
        vkf_test_operand *a = vkf_test_constant(&ops, H, 0.9990234375f, SHAPE(2, K));
        vkf_test_operand *b = vkf_test_constant(&ops, H, 1, SHAPE(3, K));
        for (uint32_t i = 0; i < 2 * K; i += TILE)
            a->values[i] = a->values[i + 1] = 2048;
        vkf_test_upload(&ops, a);
        // 15 of 16 products of a run are lost, where it is summed as the kernel has it. GPUs may sum more exactly.
        const double lost = run_within_bound(&ops, a, b);
        if (ops.gpu.context->device.plan.caps.type == VKF_DEVICE_TYPE_CPU)
            assert_true(lost > 14.0 / 2048);
        for (uint32_t i = 0; i < 2 * K; i++)
            a->values[i] = 1 - a->values[i] / 1024; // the large ones become -1: no run loses anything
        vkf_test_upload(&ops, a);
        assert_true(run_within_bound(&ops, a, b) < 1e-3);
    }
    vkf_test_ops_close(&ops);
}

static float sum_of(vkf_test_ops *ops, float a, float b, uint32_t k)
{
    vkf_test_operand *out = vkf_test_output(ops, F, SHAPE(1, 1));
    const vkf_gemm_desc desc = {
        .a = vkf_test_constant(ops, H, a, SHAPE(1, k))->tensor,
        .b = vkf_test_constant(ops, H, b, SHAPE(1, k))->tensor,
        .out = out->tensor,
        .transpose_b = true,
        .alpha = 1,
    };
    vkf_test_assert_ok(ops, vkf_gemm(ops->gpu.context, &desc), "vkf_gemm");
    vkf_test_download(ops, out);
    const float sum = out->values[0];
    vkf_test_ops_reset(ops);
    return sum;
}

// Sums of runs below 65,504 may sum up to more; a run beyond it is infinite, and none where the product is not wanted.
static void test_half_sums_overflow_by_run(void **state)
{
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (open_half(&ops, VKF_PRECISION_F16_SUMS, "gemm_half.f16_f16_f32/small")) {
        assert_true(sum_of(&ops, 32, 32, 256) == 262144);
        assert_true(isinf(sum_of(&ops, 256, 256, 1)));
        assert_true(isinf(sum_of(&ops, 128, 128, 32)));
        assert_true(isnan(sum_of(&ops, INFINITY, 0, 3)));
    }
    vkf_test_ops_close(&ops);
}

// By default where halves are faster and the precision allows it, and not where it does not, even if asked for.
static void test_half_sums_are_taken_where_allowed_alone(void **state)
{
    static const vkf_test_gemm_case gemm = {
        .m = 33, .n = 33, .k = 40, .transpose_b = true, .bias = true, .alpha = 1, .activation = VKF_ACTIVATION_RELU};
    static const struct {
        vkf_precision precision;
        const char *variant, *kernel;
    } rows[] = {
        {VKF_PRECISION_F16_SUMS, NULL, "gemm_half."},
        {VKF_PRECISION_F16, NULL, "gemm_tile."},
        {VKF_PRECISION_F16, "gemm_half", "gemm_tile."},
    };
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (open_half(&ops, rows[i].precision, rows[i].variant)) {
            vkf_test_gemm_run(&ops, &HALF_TO_FLOAT, &gemm, true, 0, 0);
            assert_kernel(&ops, rows[i].kernel);
        }
        vkf_test_ops_close(&ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_half_sums_of_random_values_are_within_the_bound),
        VKF_OPS_TEST(test_half_sums_that_lose_the_most_are_within_the_bound),
        VKF_OPS_TEST(test_half_sums_overflow_by_run),
        VKF_OPS_TEST(test_half_sums_are_taken_where_allowed_alone),
    };
    return cmocka_run_group_tests_name("op_gemm_half", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

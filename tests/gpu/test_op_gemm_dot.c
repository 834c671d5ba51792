// Products with weights in blocks by integer dot products, beside what their cases try: the rounding of activations
// that comes before them, numbers that are none, and where the kernels are taken.
//
// Where a's values are such that blocks of signed bytes hold them exactly (vkf_test_gemm_case.bytes), the bounds are
// those of a sum's order, and of the rounding of a half.
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "op/gemm_dot.h"
#include "op/operators.h"
#include "op/quantize_rows.h"
#include "op/run_once.h"
#include "shared/quantize_rows.h"
#include "support/block_weight.h"
#include "support/gemm_case.h"
#include "support/taken_kernel.h"

#define ATOL 2e-5
#define HALF_TOLERANCE 2e-3
#define DEPTH VKF_QUANTIZE_ROWS_DEPTH
#define WORDS VKF_QUANTIZE_ROWS_WORDS

static const vkf_dtype BLOCK_TYPES[] = {VKF_DTYPE_Q8, VKF_DTYPE_Q4};

static bool has_integer_dot(const vkf_test_ops *ops)
{
    return ops->gpu.context->device.plan.caps.integer_dot;
}

// Rounding ------------------------------------------------------------------------------------------------------------

// The words of x (batch, m, ld), of whose rows k elements are taken; x is freed with the fixture's operands.
static const uint32_t *quantize(vkf_test_ops *ops, const vkf_test_operand *x, vkf_dtype weight, const uint32_t shape[4])
{
    const uint32_t batch = shape[0], m = shape[1], k = shape[2], ld = shape[3];
    vkf_test_operand *rows =
        vkf_test_output(ops, VKF_DTYPE_I32, SHAPE((uint32_t)vkf__quantized_words((uint64_t)batch * m * k)));
    const vkf__quantize_rows_args args = {
        .label = "rows",
        .x = vkf__span_of(&x->tensor),
        .out = vkf__span_of(&rows->tensor),
        .weight = weight,
        .m = m,
        .k = k,
        .batch = batch,
        .ld = ld,
        .outer = m * ld,
    };
    vkf_test_assert_ok(
        ops, vkf__run_once(ops->gpu.context, "quantize", vkf__operator(VKF_OP_QUANTIZE_ROWS)->emit, &args), "quantize");
    vkf_test_download(ops, rows);
    return (const uint32_t *)rows->ids;
}

static float float_of(uint32_t word)
{
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

// The bytes in the order of the elements, from that of shared/quantize_rows.h.
static void unpack(const uint32_t *words, vkf_dtype weight, int8_t out[DEPTH])
{
    for (uint32_t i = 0; i < DEPTH; i++) {
        uint32_t at = weight == VKF_DTYPE_Q8 ? i : (i / 8 * 8) + (i % 2 ? 4 : 0) + i % 8 / 2;
        out[i] = (int8_t)(words[at / 4] >> at % 4 * 8 & 0xff);
    }
}

// Each is the nearest that it can be: half a step off, and what products and quotients of float32 add to that.
static void check_block(const float *x, const uint32_t *words, vkf_dtype weight, const char *what)
{
    double largest = 0, scale = (double)float_of(words[VKF_QUANTIZE_ROWS_SCALE]), sum = 0;
    int8_t q[DEPTH];
    unpack(words, weight, q);
    for (uint32_t i = 0; i < DEPTH; i++)
        largest = fmax(largest, fabs((double)x[i]));
    if (fabs(scale - largest / 127) > 2e-7 * scale)
        fail_msg("%s: a scale of %g for a largest value of %g", what, scale, largest);
    for (uint32_t i = 0; i < DEPTH; i++) {
        double error = fabs((double)x[i] - scale * q[i]);
        sum += q[i];
        if (error > 0.5001 * scale || q[i] < -127)
            fail_msg("%s: element %u, %g, is %g", what, i, (double)x[i], scale * q[i]);
    }
    double kept = (double)float_of(words[VKF_QUANTIZE_ROWS_SUM]);
    if (fabs(kept - scale * sum) > 2e-7 * fabs(scale * sum))
        fail_msg("%s: a sum of %g instead of %g", what, kept, scale * sum);
    for (uint32_t i = VKF_QUANTIZE_ROWS_SUM + 1; i < WORDS; i++)
        assert_int_equal((int32_t)words[i], (int32_t)VKF_TEST_UNTOUCHED);
    uint32_t again[WORDS];
    vkf__quantized_block(weight, float_of(words[VKF_QUANTIZE_ROWS_SCALE]), q, again);
    assert_memory_equal(again, words, (VKF_QUANTIZE_ROWS_SCALE + 1) * sizeof again[0]);
}

// Batch, rows, elements, and elements between the beginnings of rows.
static const uint32_t ROWS[][4] = {
    {1, 1, 32, 32},  {1, 1, 64, 64},     {3, 1, 96, 100},        {1, 7, 32, 33},
    {2, 13, 64, 64}, {1, 5, 4096, 4097}, {1, 2, 100000, 100000},
};

static void test_rows_are_rounded_to_blocks(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < 4 * COUNT_OF(ROWS); i++) {
        const uint32_t *s = ROWS[i / 4];
        const vkf_dtype weight = BLOCK_TYPES[i % 2];
        ops->aligned = i % 4 < 2;
        vkf_test_operand *x = vkf_test_normal(ops, i / 2 % 2 == i / 4 % 2 ? VKF_DTYPE_F32 : VKF_DTYPE_F16, 0.1f, 2,
                                              SHAPE(s[0], s[1], s[3]));
        const uint32_t *words = quantize(ops, x, weight, s);
        for (uint32_t block = 0; block < s[0] * s[1] * s[2] / DEPTH; block++) {
            uint32_t row = block / (s[2] / DEPTH), first = block % (s[2] / DEPTH) * DEPTH;
            check_block(x->values + (size_t)row * s[3] + first, words + (size_t)block * WORDS, weight,
                        vkf_test_label(&ops->gpu, "(%u, %u, %u) with rows of %u, %s, block %u", s[0], s[1], s[2], s[3],
                                       vkf_dtype_name(weight), block));
        }
        vkf_test_ops_reset(ops);
    }
    ops->aligned = false;
}

static void test_rows_beyond_the_numbers(void **state)
{
    static const float values[] = {0,     1e-38f,    -1e-40f,  FLT_MAX, -0x1p126f, 0x1.8p126f, 0x1p127f,
                                   2e30f, -0x1p100f, 0x1p-99f, NAN,     INFINITY,  -INFINITY};
    vkf_test_ops *ops = vkf_test_ops_of(state);
    enum { BLOCKS = COUNT_OF(values) };
    float x[BLOCKS * DEPTH] = {0};
    for (uint32_t i = 0; i < BLOCKS; i++)
        x[i * DEPTH + (5 * i + 3) % DEPTH] = values[i];
    for (size_t t = 0; t < COUNT_OF(BLOCK_TYPES); t++) {
        const uint32_t shape[] = {1, 1, BLOCKS * DEPTH, BLOCKS * DEPTH};
        const uint32_t *words =
            quantize(ops, vkf_test_values(ops, VKF_DTYPE_F32, x, SHAPE(BLOCKS * DEPTH)), BLOCK_TYPES[t], shape);
        for (uint32_t i = 0; i < BLOCKS; i++) {
            const uint32_t *block = words + (size_t)i * WORDS;
            const float scale = float_of(block[VKF_QUANTIZE_ROWS_SCALE]), sum = float_of(block[VKF_QUANTIZE_ROWS_SUM]);
            if (!isfinite(values[i]))
                assert_true(isnan(scale) && isnan(sum));
            else if (fabsf(values[i]) < VKF_QUANTIZE_ROWS_LEAST)
                assert_true(scale == 0 && sum == 0);
            else
                check_block(x + (size_t)i * DEPTH, block, BLOCK_TYPES[t], "the largest number");
        }
        vkf_test_ops_reset(ops);
    }
}

// Products ------------------------------------------------------------------------------------------------------------

// The types of a and d.
static const vkf_dtype OTHER_TYPES[][2] = {
    {VKF_DTYPE_F32, VKF_DTYPE_F32},
    {VKF_DTYPE_F16, VKF_DTYPE_F16},
    {VKF_DTYPE_F16, VKF_DTYPE_F32},
};

static void check_kernel(const vkf_test_ops *ops, const char *kernel)
{
    const char *taken = vkf_test_taken_kernel();
    bool packed = !ops->gpu.context->device.plan.caps.storage_16bit && strstr(taken, "f16");
    if (has_integer_dot(ops) && !packed && strncmp(taken, kernel, strlen(kernel)) != 0)
        fail_msg("%s instead of %s", taken, kernel);
}

static void run(vkf_test_ops *ops, size_t number, vkf_test_gemm_case gemm, const char *kernel)
{
    const vkf_dtype *other = OTHER_TYPES[number / 2 % COUNT_OF(OTHER_TYPES)];
    const vkf_test_gemm_types types = {other[0], BLOCK_TYPES[number % 2], other[1]};
    double tolerance = types.d == VKF_DTYPE_F16 ? HALF_TOLERANCE : ATOL;
    double longer = gemm.k > 300 ? sqrt(gemm.k / 300.0) : 1;
    gemm.transpose_b = gemm.bytes = true;
    vkf_test_gemm_run(ops, &types, &gemm, false, tolerance * longer, tolerance);
    check_kernel(ops, kernel);
}

// The nearest byte, and for values half way between two what is away from there: devices round those either way.
static void round_row(float *x, uint32_t k, double *out)
{
    for (uint32_t first = 0; first < k; first += DEPTH) {
        double largest = 0;
        for (uint32_t i = first; i < first + DEPTH; i++)
            largest = fmax(largest, fabs((double)x[i]));
        for (uint32_t i = first; i < first + DEPTH; i++) {
            double steps = (double)x[i] * 127 / largest, part = steps - floor(steps);
            if (fabs(part - 0.5) < 0.01)
                x[i] = (float)((floor(steps) + 0.25) * largest / 127);
            out[i] = rint((double)x[i] * 127 / largest) * (largest / 127);
        }
    }
}

// Any numbers, in rows that lie apart: what the product of the rounded rows is, and not that of the rows. One row has
// an element that is no number: all that is made of that row is NaN, and nothing else.
static void run_rounded(vkf_test_ops *ops, uint32_t m, uint32_t n, vkf_dtype dtype)
{
    enum { K = 288, LD = K + 4, BATCH = 2 };
    double a[K], unrounded = 0;
    vkf_test_operand *x = vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(BATCH * m, LD));
    vkf_test_operand *b = vkf_test_block_weight(ops, dtype, false, n, K);
    vkf_test_operand *out = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(BATCH * m, n));
    float *expected = vkf_test_floats(out->count);
    for (uint32_t row = 0; row < BATCH * m; row++) {
        round_row(x->values + (size_t)row * LD, K, a);
        for (uint32_t col = 0; col < n; col++) {
            double sum = 0, plain = 0;
            for (uint32_t k = 0; k < K; k++) {
                sum += a[k] * (double)b->values[col * K + k];
                plain += (double)x->values[row * LD + k] * (double)b->values[col * K + k];
            }
            expected[row * n + col] = row == m / 2 ? NAN : (float)sum;
            unrounded = fmax(unrounded, fabs(plain - sum));
        }
    }
    x->values[m / 2 * LD + 45] = dtype == VKF_DTYPE_Q8 ? NAN : INFINITY;
    vkf_test_upload(ops, x);
    const vkf__gemm_args args = {
        .label = "rounded",
        .a = vkf__span_of(&x->tensor),
        .b = vkf__span_of(&b->tensor),
        .d = vkf__span_of(&out->tensor),
        .m = m,
        .n = n,
        .k = K,
        .batch = BATCH,
        .lda = LD,
        .ldb = K,
        .ldd = n,
        .a_outer = m * LD,
        .d_outer = m * n,
        .transpose_b = true,
        .alpha = 1,
    };
    vkf_test_watch_kernels(ops->gpu.context, VKF_OP_GEMM);
    const vkf_status status = vkf__run_once(ops->gpu.context, "rounded", vkf__operator(VKF_OP_GEMM)->emit, &args);
    vkf_test_unwatch_kernels(ops->gpu.context);
    vkf_test_assert_ok(ops, status, "gemm");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, out->count, 4 * ATOL, 4 * ATOL,
                 vkf_test_label(&ops->gpu, "%u rounded rows, %s", m, vkf_dtype_name(dtype)));
    assert_true(unrounded > 100 * ATOL);
    free(expected);
    vkf_test_ops_reset(ops);
}

// The kernel of few rows that lie at multiples of 16 bytes rounds them by itself, unless another one is asked for. On a
// device of two workgroups it walks through the columns.
static void test_products_round_the_rows(void **state)
{
    static const struct {
        uint32_t m, n;
        bool aligned;
        const char *variant, *mask, *kernel;
    } rows[] = {
        {3, 37, true, "gemm_dot", NULL, "gemm_dot_rounds."},
        {3, 37, true, "gemm_dot.", NULL, "gemm_dot."},
        {3, 37, false, "gemm_dot", NULL, "gemm_dot."},
        {17, 37, true, "gemm_dot", NULL, "gemm_dot"},
        {2, 200, true, "gemm_dot", "maxComputeWorkGroupCount[0]=2", "gemm_dot_rounds."},
    };
    (void)vkf_test_ops_of(state);
    for (size_t i = 0; i < 2 * COUNT_OF(rows); i++) {
        vkf_test_ops ops = {.aligned = rows[i / 2].aligned};
        vkf_context_desc desc = {
            .variant = rows[i / 2].variant, .masks = &rows[i / 2].mask, .mask_count = rows[i / 2].mask ? 1 : 0};
        assert_int_equal(vkf_test_gpu_open(&ops.gpu, &desc), 0);
        if (has_integer_dot(&ops)) {
            run_rounded(&ops, rows[i / 2].m, rows[i / 2].n, BLOCK_TYPES[i % 2]);
            check_kernel(&ops, rows[i / 2].kernel);
        }
        vkf_test_ops_close(&ops);
    }
}

// What rounds rows ahead of a product normalises them, too.
static void test_rows_are_normalised_ahead_of_the_product(void **state)
{
    const vkf__span row = {.size_bytes = 4 * 64, .dtype = VKF_DTYPE_F32};
    const vkf__gemm_args args = {
        .label = "normalised",
        .a = row,
        .b = {.size_bytes = 640, .dtype = VKF_DTYPE_Q4, .panels = true},
        .d = {.size_bytes = 4 * 32, .dtype = VKF_DTYPE_F32},
        .m = 1,
        .n = 32,
        .k = 64,
        .batch = 1,
        .lda = 64,
        .ldb = 64,
        .ldd = 32,
        .transpose_b = true,
        .alpha = 1,
        .norm = {.weight = row, .bias = {.offset_bytes = 4 * 64, .size_bytes = 4 * 64, .dtype = VKF_DTYPE_F32}},
    };
    (void)vkf_test_ops_of(state);
    vkf_test_ops ops;
    if (vkf_test_ops_open_variant(&ops, "gemm_dot.") && has_integer_dot(&ops)) {
        vkf__work work;
        vkf__work_init(&work, ops.gpu.context, "ahead");
        vkf_test_assert_ok(&ops, vkf__work_plan(&work, vkf__operator(VKF_OP_GEMM)->emit, &args), "plan");
        assert_int_equal(work.plan.node_count, 2);
        assert_int_equal(work.plan.nodes[0].spec[VKF_QUANTIZE_ROWS_SPEC_NORM], VKF_GEMM_NORM_LAYER_F32);
        vkf__work_finish(&work);
    }
    vkf_test_ops_close(&ops);
}

// The choice ----------------------------------------------------------------------------------------------------------

// The device as one that is no processor, whose integer dot products are accelerated or not.
static void pretend(vkf_test_ops *ops, bool accelerated)
{
    vkf__caps *caps = &ops->gpu.context->device.plan.caps;
    caps->type = VKF_DEVICE_TYPE_DISCRETE;
    caps->integer_dot_accelerated = accelerated;
    caps->traits = vkf__traits_of(caps);
}

static bool takes_integer_dot(vkf_test_ops *ops, uint32_t m)
{
    const vkf_test_gemm_types types = {VKF_DTYPE_F32, VKF_DTYPE_Q8, VKF_DTYPE_F32};
    const vkf_test_gemm_case gemm = {.m = m, .n = 33, .k = 64, .transpose_b = true, .alpha = 1, .bytes = true};
    vkf_test_gemm_run(ops, &types, &gemm, false, ATOL, ATOL);
    return strncmp(vkf_test_taken_kernel(), "gemm_dot", 8) == 0;
}

// Where it is accelerated, and nowhere else; masks switch it off, and so does another kernel that is asked for.
static void test_products_where_it_is_accelerated(void **state)
{
    static const char *const feature[] = {"shaderIntegerDotProduct"};
    static const char *const property[] = {VKF_TEST_NO_INTEGER_DOT_UNITS};
    (void)vkf_test_ops_of(state);
    vkf_test_ops ops;
    assert_true(vkf_test_ops_open_variant(&ops, NULL));
    vkf_device_type type = ops.gpu.context->device.plan.caps.type;
    assert_false(type == VKF_DEVICE_TYPE_CPU && takes_integer_dot(&ops, 3));
    pretend(&ops, false);
    assert_false(takes_integer_dot(&ops, 3));
    pretend(&ops, true);
    assert_int_equal(takes_integer_dot(&ops, 3), has_integer_dot(&ops));
    assert_int_equal(takes_integer_dot(&ops, 20), has_integer_dot(&ops));
    // One row where the device's traits say that its depth of 64 is enough.
    ops.gpu.context->device.plan.caps.traits.row_dot_depth_q8 = 64;
    assert_int_equal(takes_integer_dot(&ops, 1), has_integer_dot(&ops));
    ops.gpu.context->device.plan.caps.traits.row_dot_depth_q8 = 65;
    assert_false(takes_integer_dot(&ops, 1));
    assert_int_equal(takes_integer_dot(&ops, 2), has_integer_dot(&ops));
    vkf_test_ops_close(&ops);

    assert_true(vkf_test_ops_open(&ops, feature, 1));
    pretend(&ops, true);
    assert_false(takes_integer_dot(&ops, 3));
    vkf_test_ops_close(&ops);

    assert_true(vkf_test_ops_open(&ops, property, 1));
    pretend(&ops, ops.gpu.context->device.plan.caps.integer_dot_accelerated);
    assert_false(takes_integer_dot(&ops, 3));
    vkf_test_ops_close(&ops);

    assert_true(vkf_test_ops_open_variant(&ops, "gemm_tile_blocks"));
    pretend(&ops, true);
    assert_false(takes_integer_dot(&ops, 3));
    vkf_test_ops_close(&ops);
}

// Kernels that failed their self-test are not missed: activations stay as they are.
static void test_products_without_kernels_that_are_right(void **state)
{
    static const char *const wrong[] = {"gemm_dot", "quantize_rows"};
    (void)vkf_test_ops_of(state);
    for (size_t w = 0; w < COUNT_OF(wrong); w++) {
        vkf_test_ops ops;
        assert_true(vkf_test_ops_open_variant(&ops, NULL));
        pretend(&ops, true);
        for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
            const vkf__kernel *kernel = vkf__kernel_at(i);
            for (uint32_t c = 0; strncmp(kernel->name, wrong[w], strlen(wrong[w])) == 0 && c < kernel->config_count;
                 c++)
                vkf__learned_verdict(&ops.gpu.context->learned, kernel, &kernel->configs[c], VKF_VERDICT_WRONG);
        }
        assert_false(takes_integer_dot(&ops, 3));
        assert_false(takes_integer_dot(&ops, 20));
        vkf_test_ops_close(&ops);
    }
}

// Few tiles and much depth, which is cut in depth on devices that are no processors: by integer dot products, from
// which matrices may take rows of halves, and without.
static void test_products_cut_in_depth(void **state)
{
    static const uint32_t sizes[][3] = {{9, 40, 2048}, {33, 65, 4128}};
    (void)vkf_test_ops_of(state);
    for (int accelerated = 0; accelerated < 2; accelerated++) {
        vkf_test_ops ops;
        assert_true(vkf_test_ops_open_variant(&ops, NULL));
        pretend(&ops, accelerated != 0);
        for (size_t i = 0; i < 2 * COUNT_OF(sizes); i++) {
            const uint32_t *s = sizes[i / 2];
            run(&ops, i % 2 + 2 * (i / 2),
                (vkf_test_gemm_case){.m = s[0],
                                     .n = s[1],
                                     .k = s[2],
                                     .alpha = 0.5f,
                                     .beta = 1,
                                     .c = true,
                                     .bias = true,
                                     .bias_dtype = i / 2 == 0 ? VKF_DTYPE_F32 : VKF_DTYPE_F16,
                                     .activation = i % 2 ? VKF_ACTIVATION_RELU : VKF_ACTIVATION_NONE},
                accelerated && i / 2 == 0 ? "gemm_dot" : "gemm_");
            assert_int_equal(strncmp(vkf_context_get_last_op_kernel(ops.gpu.context), "gemm_reduce", 11), 0);
        }
        vkf_test_ops_close(&ops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_rows_are_rounded_to_blocks),
        VKF_OPS_TEST(test_rows_beyond_the_numbers),
        VKF_OPS_TEST(test_products_round_the_rows),
        VKF_OPS_TEST(test_rows_are_normalised_ahead_of_the_product),
        VKF_OPS_TEST(test_products_where_it_is_accelerated),
        VKF_OPS_TEST(test_products_without_kernels_that_are_right),
        VKF_OPS_TEST(test_products_cut_in_depth),
    };
    const struct CMUnitTest packed[] = {VKF_OPS_TEST(test_rows_are_rounded_to_blocks)};
    int failed = cmocka_run_group_tests_name("op_gemm_dot", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
    failed +=
        cmocka_run_group_tests_name("op_gemm_dot packed", packed, vkf_test_ops_setup_packed, vkf_test_ops_teardown);
    return failed;
}

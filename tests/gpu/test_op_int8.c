// Bytes: matrix products of them against sums in 64 bits, and numbers that become bytes and come back.
#include <math.h>
#include <string.h>

#include "support/op_fixture.h"
#include "support/taken_kernel.h"

static int value_of(const vkf_test_operand *o, size_t i)
{
    return o->tensor.dtype == VKF_DTYPE_I8 ? (int8_t)o->bytes[i] : o->bytes[i];
}

// Powers of two, by which what is exact stays so.
static vkf_test_operand *make_scales(vkf_test_ops *ops, uint32_t count, int exponent)
{
    vkf_test_operand *o = vkf_test_output(ops, VKF_DTYPE_F32, SHAPE(count));
    for (size_t i = 0; i < o->count; i++)
        o->values[i] = ldexpf(1, exponent - (int)(vkf_test_random_u64(&ops->gpu.random) % 4));
    vkf_test_upload(ops, o);
    return o;
}

typedef enum amount { NONE, ONE, EACH } amount;

typedef struct product {
    uint32_t batch, m, n, k;
    vkf_dtype a, b, out;
    bool stacked; // b has a matrix for each entry
    bool transposed;
    amount zeros, scales;
} product;

#define I8 VKF_DTYPE_I8
#define U8 VKF_DTYPE_U8
#define I32 VKF_DTYPE_I32
#define F32 VKF_DTYPE_F32

// Rows, columns and depths of 1, odd, prime, about the tiles of 32 and 64 and steps of 32, and large.
static const product PRODUCTS[] = {
    {1, 1, 1, 1, I8, I8, I32, false, false, NONE, NONE},      {1, 3, 5, 7, U8, I8, I32, false, true, ONE, NONE},
    {2, 13, 17, 31, I8, U8, I32, true, false, EACH, NONE},    {3, 31, 33, 32, U8, U8, I32, false, false, NONE, NONE},
    {1, 32, 32, 33, I8, I8, I32, false, true, EACH, NONE},    {2, 33, 31, 64, U8, U8, I32, true, true, ONE, NONE},
    {1, 63, 65, 97, I8, I8, F32, false, false, NONE, ONE},    {2, 64, 64, 128, U8, I8, F32, true, false, ONE, EACH},
    {1, 65, 129, 131, U8, U8, F32, false, true, EACH, EACH},  {1, 1, 300, 1031, I8, I8, F32, false, true, EACH, NONE},
    {1, 7, 11, 45, U8, I8, U8, false, false, ONE, ONE},       {2, 35, 37, 70, I8, I8, I8, true, true, NONE, EACH},
    {1, 200, 150, 500, U8, U8, I8, false, false, EACH, EACH}, {2, 1, 3, 2, U8, U8, U8, false, true, EACH, NONE},
};

typedef struct operands {
    vkf_test_operand *a, *b, *a_zero, *b_zero, *a_scale, *b_scale, *out_scale, *out_zero, *out;
} operands;

static vkf_test_operand *make_vector(vkf_test_ops *ops, amount many, vkf_dtype dtype, uint32_t count)
{
    const uint32_t shape = many == EACH ? count : 1;
    return many == NONE ? NULL : dtype == F32 ? make_scales(ops, shape, -2) : vkf_test_bytes(ops, dtype, SHAPE(shape));
}

static operands make_operands(vkf_test_ops *ops, const product *p)
{
    const uint32_t a_shape[] = {p->batch, p->m, p->k}, out_shape[] = {p->batch, p->m, p->n};
    const uint32_t b_shape[] = {p->batch, p->transposed ? p->n : p->k, p->transposed ? p->k : p->n};
    const uint32_t flat = p->batch == 1 ? 1 : 0;
    const bool bytes = p->out == I8 || p->out == U8;
    operands on = {
        .a = vkf_test_bytes(ops, p->a, 3 - flat, a_shape + flat),
        .b = vkf_test_bytes(ops, p->b, p->stacked ? 3 : 2, b_shape + (p->stacked ? 0 : 1)),
        .a_zero = make_vector(ops, p->zeros, p->a, p->m),
        .b_zero = make_vector(ops, p->zeros, p->b, p->n),
        .a_scale = make_vector(ops, p->scales, F32, p->m),
        .b_scale = make_vector(ops, p->scales, F32, p->n),
        .out = vkf_test_output(ops, p->out, 3 - flat, out_shape + flat),
    };
    if (bytes) {
        on.out_scale = make_scales(ops, 1, p->scales == NONE ? 12 : 8);
        on.out_zero = make_vector(ops, p->zeros, p->out, 1);
    }
    return on;
}

static int of_vector(const vkf_test_operand *vector, size_t i)
{
    return vector ? value_of(vector, vector->count == 1 ? 0 : i) : 0;
}

static double of_scale(const vkf_test_operand *scale, size_t i)
{
    return scale ? (double)scale->values[scale->count == 1 ? 0 : i] : 1;
}

static int64_t sum_of(const product *p, const operands *on, size_t entry, size_t row, size_t col)
{
    const size_t matrix = p->stacked ? entry * p->n * p->k : 0;
    const int a_zero = of_vector(on->a_zero, row), b_zero = of_vector(on->b_zero, col);
    int64_t sum = 0;
    for (size_t i = 0; i < p->k; i++)
        sum += (value_of(on->a, (entry * p->m + row) * p->k + i) - a_zero) *
               (value_of(on->b, matrix + (p->transposed ? col * p->k + i : i * p->n + col)) - b_zero);
    return sum;
}

// All is exact: sums below 2^24 and scales of powers of two. So are ties, which go to even.
static void assert_element(vkf_test_ops *ops, const product *p, const operands *on, size_t i)
{
    const size_t col = i % p->n, row = i / p->n % p->m, entry = i / p->n / p->m;
    const int64_t sum = sum_of(p, on, entry, row, col);
    const double scaled = (double)sum * of_scale(on->a_scale, row) * of_scale(on->b_scale, col);
    double expected = scaled, actual;
    if (p->out == I32) {
        actual = on->out->ids[i];
    } else if (p->out == F32) {
        actual = (double)on->out->values[i];
    } else {
        const double least = p->out == I8 ? -128 : 0;
        actual = value_of(on->out, i);
        expected = nearbyint(scaled / of_scale(on->out_scale, 0)) + of_vector(on->out_zero, 0);
        expected = fmin(fmax(expected, least), least + 255);
    }
    if (actual != expected)
        fail_msg("%s", vkf_test_label(&ops->gpu, "(%u, %u, %u, %u) of %s by %s to %s: element %zu is %g, not %g",
                                      p->batch, p->m, p->n, p->k, vkf_dtype_name(p->a), vkf_dtype_name(p->b),
                                      vkf_dtype_name(p->out), i, actual, expected));
}

static vkf_gemm_int8_desc desc_of(const product *p, const operands *on)
{
    return (vkf_gemm_int8_desc){
        .a = on->a->tensor,
        .b = on->b->tensor,
        .a_zero = vkf_test_tensor_of(on->a_zero),
        .b_zero = vkf_test_tensor_of(on->b_zero),
        .a_scale = vkf_test_tensor_of(on->a_scale),
        .b_scale = vkf_test_tensor_of(on->b_scale),
        .out_scale = vkf_test_tensor_of(on->out_scale),
        .out_zero = vkf_test_tensor_of(on->out_zero),
        .out = on->out->tensor,
        .transpose_b = p->transposed,
    };
}

static void run_product(vkf_test_ops *ops, const product *p)
{
    const operands on = make_operands(ops, p);
    const vkf_gemm_int8_desc desc = desc_of(p, &on);
    vkf_test_assert_ok(ops, vkf_gemm_int8(ops->gpu.context, &desc), "vkf_gemm_int8");
    vkf_test_download(ops, on.out);
    for (size_t i = 0; i < on.out->count; i++)
        assert_element(ops, p, &on, i);
    vkf_test_ops_reset(ops);
}

static void test_products_are_exact(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(PRODUCTS); i++)
        run_product(ops, &PRODUCTS[i]);
}

// By each of the kernels, where the device can run it; the other products are left to cases.
static void test_products_by_either_kernel(void **state)
{
    static const char *const variants[] = {"gemm_int8.", "gemm_int8_dot."};
    const bool dots = vkf_test_ops_of(state)->gpu.context->device.plan.caps.integer_dot;
    for (size_t v = 0; v < (dots ? 2 : 1); v++) {
        vkf_test_ops ops;
        assert_true(vkf_test_ops_open_variant(&ops, variants[v]));
        for (size_t i = 1; i < COUNT_OF(PRODUCTS); i += 4) {
            vkf_test_watch_kernels(ops.gpu.context, VKF_OP_GEMM_INT8);
            run_product(&ops, &PRODUCTS[i]);
            vkf_test_unwatch_kernels(ops.gpu.context);
            if (strncmp(vkf_test_taken_kernel(), variants[v], strlen(variants[v])) != 0)
                fail_msg("%s was asked for, %s taken", variants[v], vkf_test_taken_kernel());
        }
        vkf_test_ops_close(&ops);
    }
}

// Sums at the end of 32 bits, and depths at which they might lie beyond it.
static void test_depths_end_where_sums_do(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const struct {
        vkf_dtype dtype;
        int byte;
        uint32_t most;
    } ends[] = {{U8, 255, 33025}, {I8, -128, 131071}};
    for (size_t i = 0; i < COUNT_OF(ends); i++) {
        vkf_test_operand *a = vkf_test_bytes(ops, ends[i].dtype, SHAPE(1, ends[i].most + 1));
        vkf_test_operand *out = vkf_test_output(ops, I32, SHAPE(1, 1));
        memset(a->bytes, ends[i].byte, a->count);
        vkf_test_upload(ops, a);
        vkf_gemm_int8_desc desc = {.a = a->tensor, .b = a->tensor, .out = out->tensor, .transpose_b = true};
        vkf_test_assert_refused(ops, vkf_gemm_int8(ops->gpu.context, &desc), VKF_ERROR_TOO_LARGE, "depth");
        desc.a.shape[1] = desc.b.shape[1] = ends[i].most;
        vkf_test_assert_ok(ops, vkf_gemm_int8(ops->gpu.context, &desc), "vkf_gemm_int8");
        vkf_test_download(ops, out);
        assert_int_equal(out->ids[0], (int64_t)ends[i].most * ends[i].byte * ends[i].byte);
    }
}

// ---- numbers to bytes and back

typedef struct linear {
    uint32_t shape[3];
    uint32_t axis;
    bool each, zero;
    vkf_dtype type;
} linear;

static const linear LINEARS[] = {
    {{1, 1, 1}, 0, false, false, I8}, {{2, 3, 5}, 1, true, true, U8},    {{7, 1, 131}, 2, true, false, I8},
    {{5, 8, 13}, 0, true, true, I8},  {{1, 127, 3}, 1, false, true, U8}, {{64, 64, 5}, 2, true, true, U8},
};

// Numbers about the range, whose scales divide them with a remainder.
static vkf_test_operand *make_numbers(vkf_test_ops *ops, const uint32_t shape[3])
{
    static const float special[] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 1e30f, -1e30f};
    vkf_test_operand *x = vkf_test_uniform(ops, F32, -100, 100, 3, shape);
    for (size_t i = 0; i < COUNT_OF(special) && i + 20 < x->count; i++)
        x->values[i + 10] = special[i];
    vkf_test_upload(ops, x);
    return x;
}

static size_t channel_of(const linear *l, size_t i)
{
    const uint32_t *s = l->shape;
    return !l->each ? 0 : l->axis == 0 ? i / s[1] / s[2] : l->axis == 1 ? i / s[2] % s[1] : i % s[2];
}

// To the nearest byte, or to either where the number is within a rounding of the middle.
static void assert_rounded(vkf_test_ops *ops, const linear *l, const vkf_test_operand *x, const vkf_test_operand *scale,
                           const vkf_test_operand *zero, const vkf_test_operand *out)
{
    const double least = l->type == I8 ? -128 : 0;
    for (size_t i = 0; i < out->count; i++) {
        const double number = (double)x->values[i], steps = number / of_scale(scale, channel_of(l, i));
        const double exact = isnan(number) ? 0 : steps, offset = of_vector(zero, channel_of(l, i));
        const double expected = fmin(fmax(nearbyint(exact) + offset, least), least + 255);
        const bool middle = fabs(fabs(exact - trunc(exact)) - 0.5) < 1e-5 && exact * 2 != floor(exact * 2);
        if (fabs(value_of(out, i) - expected) > middle)
            fail_msg("%s", vkf_test_label(&ops->gpu, "%g / %g to %s: element %zu is %d, not %g", number,
                                          of_scale(scale, channel_of(l, i)), vkf_dtype_name(l->type), i,
                                          value_of(out, i), expected));
    }
}

static void run_linear(vkf_test_ops *ops, const linear *l)
{
    const uint32_t channels = l->each ? l->shape[l->axis] : 1;
    vkf_test_operand *x = make_numbers(ops, l->shape), *bytes = vkf_test_output(ops, l->type, 3, l->shape);
    vkf_test_operand *back = vkf_test_output(ops, F32, 3, l->shape), *scale = make_scales(ops, channels, 0);
    const vkf_test_operand *zero = make_vector(ops, l->zero ? EACH : NONE, l->type, channels);
    for (size_t i = 0; i < channels && channels > 3; i++)
        scale->values[i] *= 1 + 0.1f * (float)(i % 7);
    vkf_test_upload(ops, scale);
    vkf_quantize_linear_desc desc = {x->tensor, scale->tensor, vkf_test_tensor_of(zero), bytes->tensor, l->axis};
    vkf_test_assert_ok(ops, vkf_quantize_linear(ops->gpu.context, &desc), "vkf_quantize_linear");
    vkf_test_download(ops, bytes);
    assert_rounded(ops, l, x, scale, zero, bytes);
    desc.x = bytes->tensor;
    desc.out = back->tensor;
    vkf_test_assert_ok(ops, vkf_dequantize_linear(ops->gpu.context, &desc), "vkf_dequantize_linear");
    vkf_test_download(ops, back);
    for (size_t i = 0; i < back->count; i++) {
        const int difference = value_of(bytes, i) - of_vector(zero, channel_of(l, i));
        const float expected = (float)difference * (float)of_scale(scale, channel_of(l, i));
        assert_close(&back->values[i], &expected, 1, 0, 0, vkf_test_label(&ops->gpu, "back %zu", i));
    }
    vkf_test_ops_reset(ops);
}

static void test_numbers_become_bytes_and_come_back(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    for (size_t i = 0; i < COUNT_OF(LINEARS); i++)
        run_linear(ops, &LINEARS[i]);
}

// What a product in i32 becomes outside of it.
static void test_sums_become_numbers(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    static const int32_t sums[] = {0, 1, -1, 1 << 24, INT32_MIN, INT32_MAX};
    vkf_test_operand *x = vkf_test_ids(ops, sums, SHAPE(6)), *out = vkf_test_output(ops, F32, SHAPE(6));
    vkf_test_operand *scale = vkf_test_constant(ops, F32, 0.5f, SHAPE(1));
    const vkf_quantize_linear_desc desc = {.x = x->tensor, .scale = scale->tensor, .out = out->tensor};
    float expected[COUNT_OF(sums)];
    for (size_t i = 0; i < COUNT_OF(sums); i++)
        expected[i] = 0.5f * (float)sums[i];
    vkf_test_assert_ok(ops, vkf_dequantize_linear(ops->gpu.context, &desc), "vkf_dequantize_linear");
    vkf_test_download(ops, out);
    assert_close(out->values, expected, COUNT_OF(sums), 0, 0, vkf_test_label(&ops->gpu, "sums"));
}

// ---- what is refused

static const vkf_test_plant PRODUCT_PLANTS[] = {
    VKF_PLANT(vkf_gemm_int8_desc, a.dtype, F32),
    VKF_PLANT(vkf_gemm_int8_desc, a.dtype, VKF_DTYPE_BOOL),
    VKF_PLANT(vkf_gemm_int8_desc, a.rank, 1),
    VKF_PLANT(vkf_gemm_int8_desc, b.dtype, VKF_DTYPE_Q8),
    VKF_PLANT(vkf_gemm_int8_desc, b.shape[1], 4), // k is 5
    VKF_PLANT(vkf_gemm_int8_desc, transpose_b, 0),
    VKF_PLANT(vkf_gemm_int8_desc, a_zero.dtype, I8), // unlike a
    VKF_PLANT(vkf_gemm_int8_desc, a_zero.shape[0], 2),
    VKF_PLANT(vkf_gemm_int8_desc, a_zero.rank, 2),
    VKF_PLANT(vkf_gemm_int8_desc, b_zero.dtype, U8), // unlike b
    VKF_PLANT(vkf_gemm_int8_desc, b_zero.shape[0], 3),
    VKF_PLANT(vkf_gemm_int8_desc, a_scale.dtype, VKF_DTYPE_F16),
    VKF_PLANT(vkf_gemm_int8_desc, b_scale.shape[0], 2),
    VKF_PLANT(vkf_gemm_int8_desc, out_scale.rank, 0), // out is of bytes
    VKF_PLANT(vkf_gemm_int8_desc, out_scale.shape[0], 3),
    VKF_PLANT(vkf_gemm_int8_desc, out_zero.dtype, U8), // unlike out
    VKF_PLANT(vkf_gemm_int8_desc, out.dtype, VKF_DTYPE_F16),
    VKF_PLANT(vkf_gemm_int8_desc, out.shape[0], 2),
};

static void refuse_product(vkf_test_ops *ops, const vkf_gemm_int8_desc *desc, const char *what)
{
    vkf_test_assert_refused(ops, vkf_gemm_int8(ops->gpu.context, desc), VKF_ERROR_INVALID_ARGUMENT, what);
}

static void test_products_that_do_not_go_together_are_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const product p = {1, 3, 4, 5, U8, I8, I8, false, true, EACH, EACH};
    const operands on = make_operands(ops, &p);
    const vkf_gemm_int8_desc correct = desc_of(&p, &on);
    for (size_t i = 0; i < COUNT_OF(PRODUCT_PLANTS); i++) {
        vkf_gemm_int8_desc desc = correct;
        vkf_test_plant_into(&PRODUCT_PLANTS[i], &desc);
        refuse_product(ops, &desc, PRODUCT_PLANTS[i].field);
    }
    vkf_gemm_int8_desc desc = correct;
    desc.out = vkf_test_output(ops, F32, SHAPE(3, 4))->tensor;
    refuse_product(ops, &desc, "an out of f32 with a scale of its own");
    desc.out_scale = desc.out_zero = (vkf_tensor){0};
    vkf_test_assert_ok(ops, vkf_gemm_int8(ops->gpu.context, &desc), "without it");
    desc.out.dtype = I32;
    refuse_product(ops, &desc, "an out of i32 with scales");
    desc = correct;
    desc.out = desc.a;
    desc.out.shape[1] = 4;
    desc.out.dtype = I8;
    refuse_product(ops, &desc, "a as out");
    assert_int_equal(vkf_gemm_int8(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
    vkf_test_assert_untouched(ops, on.out);
}

static const vkf_test_plant LINEAR_PLANTS[] = {
    VKF_PLANT(vkf_quantize_linear_desc, x.dtype, I32),
    VKF_PLANT(vkf_quantize_linear_desc, x.shape[0], 2),
    VKF_PLANT(vkf_quantize_linear_desc, scale.rank, 0),
    VKF_PLANT(vkf_quantize_linear_desc, scale.dtype, VKF_DTYPE_F16),
    VKF_PLANT(vkf_quantize_linear_desc, axis, 0), // three channels, and four scales
    VKF_PLANT(vkf_quantize_linear_desc, axis, 2),
    VKF_PLANT(vkf_quantize_linear_desc, zero.dtype, U8), // unlike out
    VKF_PLANT(vkf_quantize_linear_desc, zero.shape[0], 1),
    VKF_PLANT(vkf_quantize_linear_desc, out.dtype, F32),
};

static void test_numbers_that_become_no_bytes_are_refused(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    const vkf_test_operand *x = vkf_test_output(ops, F32, SHAPE(3, 4)), *scale = make_scales(ops, 4, 0);
    const vkf_test_operand *zero = vkf_test_bytes(ops, I8, SHAPE(4)), *out = vkf_test_output(ops, I8, SHAPE(3, 4));
    const vkf_quantize_linear_desc correct = {x->tensor, scale->tensor, zero->tensor, out->tensor, 1};
    for (size_t i = 0; i < COUNT_OF(LINEAR_PLANTS); i++) {
        vkf_quantize_linear_desc desc = correct;
        vkf_test_plant_into(&LINEAR_PLANTS[i], &desc);
        vkf_test_assert_refused(ops, vkf_quantize_linear(ops->gpu.context, &desc), VKF_ERROR_INVALID_ARGUMENT,
                                LINEAR_PLANTS[i].field);
    }
    vkf_test_assert_refused(ops, vkf_dequantize_linear(ops->gpu.context, &correct), VKF_ERROR_INVALID_ARGUMENT,
                            "numbers that are to come back");
    assert_int_equal(vkf_quantize_linear(ops->gpu.context, NULL), VKF_ERROR_INVALID_ARGUMENT);
    assert_int_equal(vkf_dequantize_linear(NULL, &correct), VKF_ERROR_INVALID_ARGUMENT);
    vkf_test_assert_ok(ops, vkf_quantize_linear(ops->gpu.context, &correct), "all that is right");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_products_are_exact),
        VKF_OPS_TEST(test_products_by_either_kernel),
        VKF_OPS_TEST(test_depths_end_where_sums_do),
        VKF_OPS_TEST(test_numbers_become_bytes_and_come_back),
        VKF_OPS_TEST(test_sums_become_numbers),
        VKF_OPS_TEST(test_products_that_do_not_go_together_are_refused),
        VKF_OPS_TEST(test_numbers_that_become_no_bytes_are_refused),
    };
    return cmocka_run_group_tests_name("op_int8", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

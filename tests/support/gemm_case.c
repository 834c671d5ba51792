// Makes the operands of a product, runs it, and compares it with the reference.
#include "support/gemm_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/blocks.h"
#include "base/elements.h"
#include "support/block_weight.h"
#include "support/reference.h"
#include "support/taken_kernel.h"

static vkf_test_operand *values(vkf_test_ops *ops, vkf_dtype dtype, bool integers, uint32_t rank, const uint32_t *shape)
{
    return integers ? vkf_test_integers(ops, dtype, -3, 3, rank, shape)
                    : vkf_test_uniform(ops, dtype, -1, 1, rank, shape);
}

// Every 32 elements are signed bytes times a power of two (1 for integers), and one of them is 127 or -127 times that.
static vkf_test_operand *bytes(vkf_test_ops *ops, vkf_dtype dtype, bool integers, uint32_t rank, const uint32_t *shape)
{
    vkf_test_operand *operand = values(ops, dtype, integers, rank, shape);
    for (size_t first = 0; first < operand->count; first += VKF_BLOCK) {
        float scale = integers ? 1 : first / VKF_BLOCK % 3 == 0 ? 1.0f / 512 : 1.0f / 128;
        for (size_t i = first; !integers && i < first + VKF_BLOCK; i++)
            operand->values[i] = scale * rintf(operand->values[i] * 127);
        uint32_t largest = vkf_test_random_below(&ops->gpu.random, 2 * VKF_BLOCK);
        operand->values[first + largest / 2] = largest % 2 == 0 ? 127 * scale : -127 * scale;
    }
    vkf_test_upload(ops, operand);
    return operand;
}

// Inputs of -1 .. 1 that are rounded to 16 bits are off by 2^-12, or 2^-9 in bfloat16, which sums of up to 160 products
// turn into less than 2e-2 and 1e-1. Errors of longer sums grow no faster than the root of their length.
static double matrix_rounding(const vkf_test_gemm_types *types, uint32_t k)
{
    const bool rounds = types->a == VKF_DTYPE_F32 || vkf__is_blocks(types->b);
    if (!rounds || strncmp(vkf_test_taken_kernel(), "gemm_coopmat", strlen("gemm_coopmat")) != 0)
        return 0;
    return (types->b == VKF_DTYPE_BF16 ? 1e-1 : 2e-2) * (k > 160 ? sqrt(k / 160.0) : 1);
}

typedef struct gemm_operands {
    vkf_test_operand *a, *b, *c, *bias, *residual, *out;
} gemm_operands;

static gemm_operands make_operands(vkf_test_ops *ops, const vkf_test_gemm_types *types, const vkf_test_gemm_case *gemm,
                                   bool integers)
{
    const uint32_t batch = gemm->batch;
    const uint32_t a[] = {batch, gemm->transpose_a ? gemm->k : gemm->m, gemm->transpose_a ? gemm->m : gemm->k};
    const uint32_t b[] = {batch, gemm->transpose_b ? gemm->n : gemm->k, gemm->transpose_b ? gemm->k : gemm->n};
    const uint32_t out[] = {batch, gemm->m, gemm->n};
    uint32_t first = batch == 0 ? 1 : 0;
    uint32_t b_first = first == 1 || gemm->b_shared ? 1 : 0;
    bool in_place = gemm->c_in_place || gemm->residual_in_place;
    bool blocks = vkf__is_blocks(types->b);
    const bool in_bytes = gemm->bytes || (blocks && ops->gpu.context->device.plan.caps.traits.integer_dot_units);
    gemm_operands o = {.a = (in_bytes ? bytes : values)(ops, types->a, integers, 3 - first, a + first),
                       .b = blocks ? vkf_test_block_weight(ops, types->b, integers, gemm->n, gemm->k)
                                   : values(ops, types->b, integers, 3 - b_first, b + b_first)};
    o.out = in_place ? values(ops, types->d, integers, 3 - first, out + first)
                     : vkf_test_output(ops, types->d, 3 - first, out + first);
    if (gemm->c)
        o.c = gemm->c_in_place ? o.out : values(ops, types->d, integers, 3 - first, out + first);
    if (gemm->residual)
        o.residual = gemm->residual_in_place ? o.out : values(ops, types->d, integers, 3 - first, out + first);
    if (gemm->bias)
        o.bias = values(ops, blocks ? gemm->bias_dtype : types->b, integers, 1, &gemm->n);
    return o;
}

static float *expect(const vkf_test_gemm_case *gemm, const gemm_operands *o)
{
    vkf_ref_layout shared = {.row = gemm->transpose_b ? gemm->k : gemm->n};
    float *expected = vkf_test_floats(o->out->count);
    vkf_ref_gemm(&(vkf_ref_gemm_desc){
        .m = gemm->m,
        .n = gemm->n,
        .k = gemm->k,
        .batch = gemm->batch > 0 ? gemm->batch : 1,
        .a = o->a->values,
        .b = o->b->values,
        .c = vkf_test_values_of(o->c),
        .bias = vkf_test_values_of(o->bias),
        .residual = vkf_test_values_of(o->residual),
        .out = expected,
        .b_layout = gemm->b_shared ? shared : (vkf_ref_layout){0},
        .transpose_a = gemm->transpose_a,
        .transpose_b = gemm->transpose_b,
        .alpha = gemm->alpha,
        .beta = gemm->beta,
        .activation = gemm->activation,
    });
    return expected;
}

void vkf_test_gemm_run(vkf_test_ops *ops, const vkf_test_gemm_types *types, const vkf_test_gemm_case *gemm,
                       bool integers, double atol, double rtol)
{
    const gemm_operands o = make_operands(ops, types, gemm, integers);
    float *expected = expect(gemm, &o); // before the output, which may be c, changes
    vkf_tensor packed = {0};
    if (gemm->packed && !vkf__is_blocks(types->b))
        vkf_test_assert_ok(ops, vkf_pack_weight(ops->gpu.context, &o.b->tensor, "packed", &packed), "vkf_pack_weight");
    const vkf_gemm_desc desc = {
        .a = o.a->tensor,
        .b = packed.rank > 0 ? packed : o.b->tensor,
        .c = vkf_test_tensor_of(o.c),
        .bias = vkf_test_tensor_of(o.bias),
        .residual = vkf_test_tensor_of(o.residual),
        .out = o.out->tensor,
        .transpose_a = gemm->transpose_a,
        .transpose_b = gemm->transpose_b,
        .alpha = gemm->alpha != 0 ? gemm->alpha : VKF_ZERO,
        .beta = gemm->beta,
        .activation = gemm->activation,
    };
    vkf_test_watch_kernels(ops->gpu.context, VKF_OP_GEMM);
    vkf_status status = vkf_gemm(ops->gpu.context, &desc);
    vkf_test_unwatch_kernels(ops->gpu.context);
    vkf_tensor_destroy(&packed);
    vkf_test_assert_ok(ops, status, "vkf_gemm");
    vkf_test_download(ops, o.out);
    const double rounding = integers ? 0 : matrix_rounding(types, gemm->k);
    assert_close(
        o.out->values, expected, o.out->count, atol + rounding, rtol,
        vkf_test_label(&ops->gpu, "gemm %s %s %s, %u x %u x %u, batch %u%s%s%s%s, alpha %g, beta %g, activation %d",
                       vkf_dtype_name(types->a), vkf_dtype_name(types->b), vkf_dtype_name(types->d), gemm->m, gemm->n,
                       gemm->k, gemm->batch, gemm->b_shared ? ", shared b" : "", gemm->transpose_a ? ", a^T" : "",
                       gemm->transpose_b ? ", b^T" : "", gemm->packed ? ", packed" : "", (double)gemm->alpha,
                       (double)gemm->beta, (int)gemm->activation));
    free(expected);
    vkf_test_ops_reset(ops);
}

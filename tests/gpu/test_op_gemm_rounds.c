// Products with weights in blocks whose kernel rounds its rows by itself, against the rounding and the product as two
// dispatches, which other tests compare with the reference. Both round the same way, so they give the same bits where
// both have the same config and a driver that contracts neither. GPUs choose configs by their cores, and contract,
// which the bounds of a sum's order allow for. Only after a norm, whose sums workgroups of other sizes add up in
// another order, an element half way between two bytes may become the other one.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/gemm_dot.h"
#include "op/run_once.h"
#include "support/block_weight.h"
#include "support/op_fixture.h"
#include "support/taken_kernel.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

typedef struct rounds_case {
    uint32_t m, n, k, batch;
    vkf_dtype a, b, d;
    uint32_t norm; // VKF_GEMM_NORM_*
    bool gate, bias;
} rounds_case;

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gemm(work, args);
}

// One row to eight; one block and as many as models have; columns around a panel.
static const uint32_t SHAPES[][3] = {
    {1, 1, 32},  {1, 33, 14336}, {1, 31, 4096}, {2, 32, 4096}, {3, 33, 96},
    {4, 65, 64}, {5, 31, 96},    {8, 97, 64},   {8, 32, 512},  {1, 264, 96},
};

static vkf__gemm_args product_of(vkf_test_ops *ops, const rounds_case *c)
{
    const uint32_t n = c->gate ? (c->n + 7) / 8 * 8 : c->n, row = c->k + 4, out = c->gate ? n / 2 : n;
    const bool half = c->norm % 2 == VKF_GEMM_NORM_RMS_F16 % 2, layer = c->norm >= VKF_GEMM_NORM_LAYER_F32;
    ops->aligned = true;
    const vkf__span a = SPAN(vkf_test_normal(ops, c->a, 0.5f, 2, SHAPE(c->batch * c->m, row)));
    const vkf__span b = SPAN(vkf_test_block_weight(ops, c->b, false, n, c->k));
    const vkf__span vectors =
        SPAN(vkf_test_uniform(ops, half ? VKF_DTYPE_F16 : VKF_DTYPE_F32, -1, 1, SHAPE(2 * c->k + n + 1)));
    return (vkf__gemm_args){
        .label = "rounds",
        .a = a,
        .b = b,
        .bias = c->bias ? vkf__span_part(&vectors, 2 * c->k + 1, n) : (vkf__span){0},
        .m = c->m,
        .n = n,
        .k = c->k,
        .batch = c->batch,
        .lda = row,
        .ldb = c->k,
        .ldd = out,
        .a_outer = c->m * row,
        .d_outer = c->m * out,
        .transpose_b = true,
        .alpha = 0.5f,
        .activation = c->gate ? VKF_ACTIVATION_SILU : VKF_ACTIVATION_NONE,
        .norm = {.weight = c->norm ? vkf__span_part(&vectors, 0, c->k) : (vkf__span){0},
                 .bias = layer ? vkf__span_part(&vectors, c->k, c->k) : (vkf__span){0},
                 .eps = 1e-5f},
        .gate = c->gate,
    };
}

static bool is_rounded_ahead(vkf_test_ops *ops, const vkf__gemm_args *args)
{
    vkf__work work;
    vkf__work_init(&work, ops->gpu.context, "choice");
    const bool ahead = vkf__gemm_dot_pays(&work, args);
    vkf__work_finish(&work);
    return ahead;
}

// By the kernel that is asked for, which has to be the one that the product takes.
static vkf_test_operand *run(vkf_test_ops *ops, const rounds_case *c, vkf__gemm_args args, char *variant,
                             const char *label)
{
    vkf_context *context = ops->gpu.context;
    char *kept = context->forced_variant;
    vkf_test_operand *out = vkf_test_output(ops, c->d, SHAPE(c->batch * c->m, args.ldd));
    args.d = SPAN(out);
    context->forced_variant = variant;
    const bool ahead = is_rounded_ahead(ops, &args);
    vkf_test_watch_kernels(context, VKF_OP_GEMM);
    const vkf_status status = vkf__run_once(context, "rounds", emit, &args);
    vkf_test_unwatch_kernels(context);
    context->forced_variant = kept;
    if (ahead != (strcmp(variant, "gemm_dot.") == 0))
        fail_msg("%s: rows are %srounded ahead of the product", label, ahead ? "" : "not ");
    vkf_test_assert_ok(ops, status, label);
    vkf_test_download(ops, out);
    return out;
}

// False where the rounded rows leave a GPU's core too little shared memory.
static bool is_fit(const vkf_test_ops *ops)
{
    const bool taken = strncmp(vkf_test_taken_kernel(), "gemm_dot_rounds.", strlen("gemm_dot_rounds.")) == 0;
    assert_true(taken || !ops->gpu.context->device.plan.caps.traits.processor);
    return taken;
}

// Gives whether there was something to compare.
static bool check(vkf_test_ops *ops, const rounds_case *c)
{
    static char apart[] = "gemm_dot.", at_once[] = "gemm_dot_rounds.";
    const char *label = vkf_test_label(&ops->gpu, "%s %s %s, %u of %u x %u x %u, norm %u%s%s", vkf_dtype_name(c->a),
                                       vkf_dtype_name(c->b), vkf_dtype_name(c->d), c->batch, c->m, c->n, c->k, c->norm,
                                       c->gate ? ", gate" : "", c->bias ? ", bias" : "");
    if (c->d == VKF_DTYPE_F16 && !ops->gpu.context->device.plan.caps.storage_16bit)
        return true; // neither kernel stores it
    const vkf__gemm_args args = product_of(ops, c);
    const vkf_test_operand *expected = run(ops, c, args, apart, label);
    const vkf__config *config = vkf_test_taken_variant().config;
    const vkf_test_operand *out = run(ops, c, args, at_once, label);
    if (!is_fit(ops)) {
        vkf_test_ops_reset(ops);
        return false;
    }
    const bool alike = ops->gpu.context->device.plan.caps.traits.processor &&
                       strcmp(config->name, vkf_test_taken_variant().config->name) == 0;
    // Three elements that are one byte off, of rows that hardly exceed 4 and weights up to 1; a gate multiplies that.
    const double flips = c->norm == VKF_GEMM_NORM_NONE ? 0 : 3 * 4.0 / 127 * (c->gate ? 40 : 1);
    const double order = alike ? 0 : 2e-5 * (c->k > 300 ? sqrt(c->k / 300.0) : 1);
    const double rounding = alike ? 0 : c->d == VKF_DTYPE_F16 ? 0x1p-10 : 2e-5;
    assert_close(out->values, expected->values, out->count, flips + order, rounding, label);
    vkf_test_ops_reset(ops);
    return true;
}

static void test_rows_are_rounded_alike(void **state)
{
    static const vkf_dtype types[][2] = {
        {VKF_DTYPE_F32, VKF_DTYPE_F32}, {VKF_DTYPE_F16, VKF_DTYPE_F16}, {VKF_DTYPE_F16, VKF_DTYPE_F32}};
    vkf_test_ops *ops = vkf_test_ops_of(state);
    if (!ops->gpu.context->device.plan.caps.integer_dot)
        skip();
    uint32_t fit = 0;
    for (uint32_t i = 0; i < 2 * COUNT_OF(SHAPES); i++) {
        const uint32_t *s = SHAPES[i / 2];
        const vkf_dtype *type = types[i % 3];
        fit +=
            check(ops, &(rounds_case){s[0], s[1], s[2], s[0] == 3 ? 3 : 1, type[0], i % 2 ? VKF_DTYPE_Q4 : VKF_DTYPE_Q8,
                                      type[1], VKF_GEMM_NORM_NONE, i / 2 % 2 == 0, i / 2 % 3 == 0});
    }
    assert_true(fit > COUNT_OF(SHAPES));
}

static void test_rows_are_normalised_alike(void **state)
{
    vkf_test_ops *ops = vkf_test_ops_of(state);
    if (!ops->gpu.context->device.plan.caps.integer_dot)
        skip();
    uint32_t fit = 0;
    for (uint32_t norm = VKF_GEMM_NORM_RMS_F32; norm <= VKF_GEMM_NORM_LAYER_F16; norm++)
        for (uint32_t i = 0; i < 4; i++) {
            const vkf_dtype type = norm % 2 ? VKF_DTYPE_F32 : VKF_DTYPE_F16;
            fit += check(ops, &(rounds_case){1 + i, 40, i == 0 ? 4096 : 96, i == 1 ? 3 : 1, type,
                                             (i + norm) % 2 ? VKF_DTYPE_Q4 : VKF_DTYPE_Q8, type, norm, i == 2, i != 3});
        }
    assert_true(fit > 0);
}

// A device of so few workgroups walks through the columns with them.
static void test_columns_share_the_rounded_rows(void **state)
{
    (void)vkf_test_ops_of(state);
    vkf_test_ops ops;
    static const char *const limit[] = {"maxComputeWorkGroupCount[0]=2"};
    if (vkf_test_ops_open(&ops, limit, 1) && ops.gpu.context->device.plan.caps.integer_dot)
        (void)check(&ops, &(rounds_case){2, 200, 96, 3, VKF_DTYPE_F32, VKF_DTYPE_Q4, VKF_DTYPE_F32, VKF_GEMM_NORM_NONE,
                                         false, true});
    vkf_test_ops_close(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_rows_are_rounded_alike),
        VKF_OPS_TEST(test_rows_are_normalised_alike),
        VKF_OPS_TEST(test_columns_share_the_rounded_rows),
    };
    return cmocka_run_group_tests_name("gpu.op_gemm_rounds", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

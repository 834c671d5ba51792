// Products that normalise their input and gate their output in one dispatch, by every kernel that does so, against the
// reference's norm, product and gate one after the other. Rows of a LayerNorm lie about 100 deviations from 0, and one
// of them has an element far from the others.
//
// Bounds: those of test_op_gemm.c for the sum's order; the factor of a row is a rounded square root besides, and the
// halves of a gate are rounded to the stored type once instead of twice. Integer dot products round the normalised rows
// to signed bytes: errors of up to 1/254 of a block's largest magnitude, which add up as random ones do.
//
// Compiling takes most of the time: types other than f32, blocks of 8 bits and rows that are rounded take a few shapes,
// with both norm and gate, unless VKF_TEST_ALL=1; LayerNorm, of which the self-test has every kernel, in one of them.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/elements.h"
#include "op/gemm_fused.h"
#include "op/run_once.h"
#include "support/block_weight.h"
#include "support/op_fixture.h"
#include "support/reference.h"

#define EPS 1e-5f
#define SPAN(operand) vkf__span_of(&(operand)->tensor)

// What a product takes along.
typedef enum fusion { GATED, NORMED, BOTH, FUSION_COUNT } fusion;

typedef struct fused_case {
    vkf_dtype a, b, d;
    vkf_dtype norm; // of its weight
    uint32_t m, n, k;
    uint32_t batch;
    fusion fusion;
    bool layer; // a LayerNorm
    bool bias;
    bool bias_first; // the bias lies ahead of the norm's vectors
    bool rounds;     // to signed bytes
} fused_case;

// Part of the operand in which all vectors lie; absent where values is NULL.
typedef struct vector {
    vkf__span span;
    const float *values;
} vector;

typedef struct operands {
    vkf_test_operand *a, *b, *vectors, *out;
    vector weight, norm_bias, bias;
} operands;

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_gemm(work, args);
}

static vector part_of(const vkf_test_operand *vectors, uint32_t first, uint32_t count)
{
    const vkf__span all = SPAN(vectors);
    return (vector){vkf__span_part(&all, first, count), vectors->values + first};
}

// The bias of a product, (n), begins at any element, and the norm's vectors at multiples of four.
static void make_vectors(vkf_test_ops *ops, const fused_case *c, operands *o)
{
    const uint32_t space = c->n + 7, room = space / 4 * 4, norms = c->bias_first ? room : 0;
    const bool blocks = vkf__is_blocks(c->b);
    o->vectors = vkf_test_uniform(ops, blocks ? c->norm : c->b, -1, 1, SHAPE(2 * c->k + room));
    if (c->bias)
        o->bias = part_of(o->vectors, c->bias_first ? 1 : 2 * c->k + 1, c->n);
    if (c->fusion == GATED)
        return;
    o->weight = part_of(o->vectors, norms + (c->bias_first ? c->k : 0), c->k);
    if (c->layer)
        o->norm_bias = part_of(o->vectors, norms + (c->bias_first ? 0 : c->k), c->k);
}

static void put_far(vkf_test_ops *ops, vkf_test_operand *a)
{
    a->values[0] += 64;
    vkf_test_upload(ops, a);
}

static operands make_operands(vkf_test_ops *ops, const fused_case *c, bool unaligned)
{
    const bool gated = c->fusion != NORMED, blocks = vkf__is_blocks(c->b);
    const uint32_t rows = c->batch * c->m;
    operands o = {0};
    ops->aligned = !unaligned || blocks;
    o.a = c->layer ? vkf_test_normal(ops, c->a, 100, 1, SHAPE(rows, c->k))
                   : vkf_test_normal(ops, c->a, 0.25f, 1, SHAPE(rows, c->k));
    if (c->layer && !c->rounds) // by which its block would lose the others
        put_far(ops, o.a);
    o.b = blocks ? vkf_test_block_weight(ops, c->b, false, c->n, c->k)
                 : vkf_test_uniform(ops, c->b, -0.5f, 0.5f, SHAPE(c->n, c->k));
    ops->aligned = true;
    make_vectors(ops, c, &o);
    o.out = vkf_test_output(ops, c->d, SHAPE(rows, gated ? c->n / 2 : c->n));
    return o;
}

static float *expect(const fused_case *c, const operands *o)
{
    const uint32_t m = c->batch * c->m;
    float *rows = vkf_test_floats((size_t)m * c->k), *product = vkf_test_floats((size_t)m * c->n);
    for (size_t i = 0; i < (size_t)m * c->k; i++)
        rows[i] = o->a->values[i];
    if (o->weight.values)
        vkf_ref_layer_norm(&(vkf_ref_layer_norm_desc){
            .rows = m,
            .dim = c->k,
            .x = rows,
            .weight = o->weight.values,
            .bias = o->norm_bias.values,
            .out = rows,
            .eps = EPS,
            .rms = !c->layer,
        });
    vkf_ref_gemm(&(vkf_ref_gemm_desc){
        .m = m,
        .n = c->n,
        .k = c->k,
        .batch = 1,
        .a = rows,
        .b = o->b->values,
        .bias = o->bias.values,
        .out = product,
        .transpose_b = true,
        .alpha = 1,
    });
    free(rows);
    if (c->fusion == NORMED)
        return product;
    float *expected = vkf_test_floats((size_t)m * c->n / 2);
    vkf_ref_gate(m, c->n / 2, VKF_ACTIVATION_SILU, product, expected);
    free(product);
    return expected;
}

static double tolerance_of(const fused_case *c)
{
    // Eight deviations of a sum of k products of a rounding error and a weight; either factor of a gate may be off.
    if (c->rounds)
        return 8 * sqrt(c->k) * 4.5 / 254 / sqrt(3) * 0.3 * (c->fusion == NORMED ? 1 : sqrt(c->k));
    return 2e-5 * sqrt(c->k);
}

static vkf__gemm_args product_of(const fused_case *c, const operands *o)
{
    const bool gated = c->fusion != NORMED;
    const uint32_t ldd = gated ? c->n / 2 : c->n;
    return (vkf__gemm_args){
        .label = "fused",
        .a = SPAN(o->a),
        .b = SPAN(o->b),
        .d = SPAN(o->out),
        .bias = o->bias.span,
        .m = c->m,
        .n = c->n,
        .k = c->k,
        .batch = c->batch,
        .lda = c->k,
        .ldb = c->k,
        .ldd = ldd,
        .a_outer = c->m * c->k,
        .d_outer = c->m * ldd,
        .transpose_b = true,
        .alpha = 1,
        .activation = gated ? VKF_ACTIVATION_SILU : VKF_ACTIVATION_NONE,
        .norm = {o->weight.span, o->norm_bias.span, EPS},
        .gate = gated,
    };
}

static void check(vkf_test_ops *ops, const fused_case *c, bool unaligned)
{
    const operands o = make_operands(ops, c, unaligned);
    float *expected = expect(c, &o);
    const vkf__gemm_args args = product_of(c, &o);
    const char *label =
        vkf_test_label(&ops->gpu, "%s %s %s, %u of %u x %u x %u, fusion %d%s%s%s", vkf_dtype_name(c->a),
                       vkf_dtype_name(c->b), vkf_dtype_name(c->d), c->batch, c->m, c->n, c->k, (int)c->fusion,
                       c->layer ? ", LayerNorm" : "", c->bias ? ", bias" : "", unaligned ? ", unaligned" : "");
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "fused", emit, &args), label);
    vkf_test_download(ops, o.out);
    const double rounding = c->d == VKF_DTYPE_F16 ? 0x1p-10 : 2e-5;
    assert_close(o.out->values, expected, o.out->count, tolerance_of(c), rounding, label);
    free(expected);
    vkf_test_ops_reset(ops);
}

// One row, an odd number, all, two, more; n around the tiles of 4 and 32 columns, and with halves that no tile divides;
// rows that invocations read in one step and in several. Those that types other than f32 take come first.
static const uint32_t SHAPES[][3] = {{1, 72, 64},  {5, 136, 260},  {8, 24, 96},  {1, 8, 4},    {2, 40, 100},
                                     {3, 128, 36}, {1, 264, 1056}, {1, 8, 2112}, {17, 40, 164}};
#define FEW_SHAPES 3u
#define USUAL_SHAPES 4u // of those of which VKF_TEST_ALL=1 takes all

static void run_shapes(vkf_test_ops *ops, fused_case c)
{
    const bool all = c.a == VKF_DTYPE_F32 && (c.b == VKF_DTYPE_F32 || c.b == VKF_DTYPE_Q4) && !c.rounds;
    const bool few = !all && !vkf_test_all();
    const size_t count = few ? FEW_SHAPES : vkf_test_all() ? COUNT_OF(SHAPES) : USUAL_SHAPES;
    for (size_t i = 0; i < count; i++) {
        c.m = SHAPES[i][0];
        c.n = SHAPES[i][1];
        c.k = vkf__is_blocks(c.b) ? (SHAPES[i][2] + 31) / 32 * 32 : SHAPES[i][2];
        for (int kind = few || i % 3 != 0 ? BOTH : 0; kind < FUSION_COUNT; kind++) {
            c.fusion = (fusion)kind;
            c.bias = i % 2 == 0;
            c.bias_first = i % 3 == 0;
            c.batch = c.m == 2 ? 3 : 1;
            c.layer = false;
            check(ops, &c, i % 3 == 2);
            c.layer = true;
            if (c.fusion != GATED && (i == 0 || !few))
                check(ops, &c, i % 3 == 2);
        }
    }
}

static void run_variant(const char *variant, const fused_case *types)
{
    vkf_test_ops ops;
    if (vkf_test_ops_open_variant(&ops, variant))
        run_shapes(&ops, *types);
    vkf_test_ops_close(&ops);
}

static void test_fused_in_elements(void **state)
{
    (void)vkf_test_ops_of(state);
    static const char *const variants[] = {"gemv.", "gemv_subgroup"};
    static const fused_case types[] = {
        {.a = VKF_DTYPE_F32, .b = VKF_DTYPE_F32, .d = VKF_DTYPE_F32, .norm = VKF_DTYPE_F32},
        {.a = VKF_DTYPE_F32, .b = VKF_DTYPE_F16, .d = VKF_DTYPE_F32, .norm = VKF_DTYPE_F16},
        {.a = VKF_DTYPE_F32, .b = VKF_DTYPE_BF16, .d = VKF_DTYPE_F32, .norm = VKF_DTYPE_BF16},
        {.a = VKF_DTYPE_F16, .b = VKF_DTYPE_F16, .d = VKF_DTYPE_F16, .norm = VKF_DTYPE_F16},
    };
    for (size_t v = 0; v < COUNT_OF(variants); v++)
        for (size_t t = 0; t < COUNT_OF(types); t++)
            run_variant(variants[v], &types[t]);
}

static void run_blocks(const char *variant, bool rounds)
{
    static const vkf_dtype blocks[] = {VKF_DTYPE_Q8, VKF_DTYPE_Q4};
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        for (int half = 0; half < 2; half++) {
            const vkf_dtype dtype = half ? VKF_DTYPE_F16 : VKF_DTYPE_F32;
            run_variant(variant, &(fused_case){dtype, blocks[i], dtype, .norm = dtype, .rounds = rounds});
        }
    }
}

static void test_fused_in_blocks(void **state)
{
    (void)vkf_test_ops_of(state);
    run_blocks("gemm_blocks", false);
}

static void test_fused_by_integer_dot_products(void **state)
{
    if (!vkf_test_ops_of(state)->gpu.context->device.plan.caps.integer_dot)
        skip();
    run_blocks("gemm_dot.", true);
    run_blocks("gemm_dot_rounds.", true);
}

// A description without buffers, for what only asks of it: a row of 64 elements, normalised, and 16 columns.
static vkf__gemm_args product_of_a_normalised_row(void)
{
    const vkf__span row = {.size_bytes = 4 * 64, .dtype = VKF_DTYPE_F32};
    return (vkf__gemm_args){
        .a = row,
        .b = {.size_bytes = 4 * 64 * 16, .dtype = VKF_DTYPE_F32},
        .d = {.size_bytes = 4 * 16, .dtype = VKF_DTYPE_F32},
        .m = 1,
        .n = 16,
        .k = 64,
        .batch = 1,
        .lda = 64,
        .ldb = 64,
        .ldd = 16,
        .transpose_b = true,
        .alpha = 1,
        .norm = {.weight = row, .eps = EPS},
    };
}

// What no kernel takes along is refused, whatever else it could do.
static void test_fusions_that_no_kernel_takes(void **state)
{
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (vkf_test_ops_open_variant(&ops, "gemv.")) {
        vkf__work work;
        vkf__work_init(&work, ops.gpu.context, "fusions");
        vkf__gemm_args args = product_of_a_normalised_row();
        args.gate = true;
        args.ldd = 8;
        assert_true(vkf__gemm_fuses(&work, &args));
        args.n = 12; // halves of 6 columns
        assert_false(vkf__gemm_fuses(&work, &args));
        args.n = 16;
        args.norm.weight.offset_bytes = 4;
        assert_false(vkf__gemm_fuses(&work, &args));
        args.norm.weight.offset_bytes = 16;
        args.norm.weight.dtype = VKF_DTYPE_F16;
        assert_false(vkf__gemm_fuses(&work, &args));
        args.norm.weight.dtype = VKF_DTYPE_F32;
        args.norm.bias = (vkf__span){.offset_bytes = 4 * 64 + 16, .size_bytes = 4 * 64, .dtype = VKF_DTYPE_F32};
        assert_true(vkf__gemm_fuses(&work, &args));
        args.norm.bias.offset_bytes += 4;
        assert_false(vkf__gemm_fuses(&work, &args));
        args.norm.bias.offset_bytes = 0; // ahead of the weight
        assert_true(vkf__gemm_fuses(&work, &args));
        args.bias = (vkf__span){.offset_bytes = 4 * 128 + 16, .size_bytes = 4 * 16, .dtype = VKF_DTYPE_F32};
        assert_true(vkf__gemm_fuses(&work, &args));
        args.bias.offset_bytes += work.context->device.plan.caps.max_storage_buffer_range;
        assert_false(vkf__gemm_fuses(&work, &args));
        args.bias.offset_bytes = 0;
        args.bias.buffer = &(vkf_buffer){.size_bytes = 64};
        assert_false(vkf__gemm_fuses(&work, &args));
        args.norm = (vkf__input_norm){.eps = EPS};
        assert_true(vkf__gemm_fuses(&work, &args));
        args.beta = 1;
        assert_false(vkf__gemm_fuses(&work, &args));
        vkf__work_finish(&work);
    }
    vkf_test_ops_close(&ops);
}

static uint32_t index_of(const char *name)
{
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel; (kernel = vkf__kernel_next(&walk));)
        if (strcmp(kernel->name, name) == 0)
            return vkf__kernel_index(kernel);
    fail_msg("no kernel is called %s", name);
    return 0;
}

// On a processor a product for which such a kernel was measured to be the fastest still leaves LayerNorm to itself.
static void test_processors_do_not_fuse_layer_norm(void **state)
{
    vkf_test_ops ops;
    (void)vkf_test_ops_of(state);
    if (vkf_test_ops_open(&ops, NULL, 0)) {
        vkf_context *context = ops.gpu.context;
        const vkf__tuned_entry fastest = {
            .op = VKF_OP_GEMM, .type_count = 3, .m_class = 1, .n = 16, .k = 64, .kernel = index_of("gemv.f32_f32_f32")};
        vkf__gemm_args args = product_of_a_normalised_row();
        vkf__work work;
        vkf__work_init(&work, context, "processor");
        assert_int_equal(vkf__learned_measured(&context->learned, &fastest), VKF_OK);
        assert_true(vkf__gemm_fuses(&work, &args));
        args.norm.bias = args.norm.weight;
        args.norm.bias.offset_bytes = 4 * 64;
        assert_int_equal(vkf__gemm_fuses(&work, &args), !context->device.plan.caps.traits.processor);
        vkf__work_finish(&work);
    }
    vkf_test_ops_close(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_fused_in_elements),
        VKF_OPS_TEST(test_fused_in_blocks),
        VKF_OPS_TEST(test_fused_by_integer_dot_products),
        VKF_OPS_TEST(test_fusions_that_no_kernel_takes),
        VKF_OPS_TEST(test_processors_do_not_fuse_layer_norm),
    };
    return cmocka_run_group_tests_name("gpu.op_gemm_fused", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

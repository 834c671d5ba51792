// Attention of few queries whose keys and values one product has just made: it rotates queries and keys, and brings
// keys and values to their caches. Against rotary embedding and attention one after the other, in the reference.
//
// Bounds. f32: those of test_op_attention_decode.c. f16: keys and values are stored with 2^-11, and what is expected of
// the output is computed from what the caches hold afterwards.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/context.h"
#include "op/attention.h"
#include "op/run_once.h"
#include "support/op_fixture.h"
#include "support/reference.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)
#define F VKF_DTYPE_F32
#define H VKF_DTYPE_F16
#define UNUSED_ROWS 3u // of a cache, behind those of the run

typedef struct fresh_case {
    uint32_t batch, heads, kv_heads, q_len, past, dim, v_dim, rotary_dim, window;
    bool lengths; // the last batch entry sees no key
    vkf_fully_masked fully_masked;
} fresh_case;

typedef struct operands {
    vkf_test_operand *qkv, *k, *v, *table, *lengths, *out;
} operands;

static uint32_t cache_len(const fresh_case *c)
{
    return c->past + c->q_len + UNUSED_ROWS;
}

static uint32_t row_of(const fresh_case *c)
{
    return c->heads * c->dim + c->kv_heads * (c->dim + c->v_dim);
}

static operands make_operands(vkf_test_ops *ops, const fresh_case *c, vkf_dtype dtype, vkf_dtype cache)
{
    const uint32_t positions = c->past + c->q_len + 1; // the first position is 1
    int32_t lengths[8];
    for (uint32_t b = 0; b < c->batch; b++)
        lengths[b] = b + 1 < c->batch ? (int32_t)(c->past + c->q_len) : 0;
    operands o = {
        .qkv = vkf_test_normal(ops, dtype, 0, 1, SHAPE(c->batch, c->q_len, row_of(c))),
        .k = vkf_test_normal(ops, cache, 0, 1, SHAPE(c->batch, cache_len(c), c->kv_heads * c->dim)),
        .v = vkf_test_normal(ops, cache, 0, 1, SHAPE(c->batch, cache_len(c), c->kv_heads * c->v_dim)),
        .table = vkf_test_constant(ops, F, 0, SHAPE(positions, c->rotary_dim)),
        .lengths = c->lengths ? vkf_test_ids(ops, lengths, SHAPE(c->batch)) : NULL,
        .out = vkf_test_output(ops, dtype, SHAPE(c->batch, c->q_len, c->heads * c->v_dim)),
    };
    for (uint32_t at = 0; at < positions * c->rotary_dim; at++) {
        const uint32_t half = c->rotary_dim / 2, col = at % c->rotary_dim;
        const double angle = at / c->rotary_dim / pow(10000, (double)(col % half) / half);
        o.table->values[at] = (float)(col < half ? cos(angle) : sin(angle));
    }
    vkf_test_upload(ops, o.table);
    return o;
}

static vkf__heads_span heads_span(const vkf_test_operand *x, uint32_t rows, uint32_t row, uint32_t head)
{
    return (vkf__heads_span){SPAN(x), rows * row, row, head};
}

static vkf__attention_args args_of(const fresh_case *c, const operands *o)
{
    return (vkf__attention_args){
        .label = "attention",
        .q = heads_span(o->qkv, c->q_len, row_of(c), c->dim),
        .k = heads_span(o->k, cache_len(c), c->kv_heads * c->dim, c->dim),
        .v = heads_span(o->v, cache_len(c), c->kv_heads * c->v_dim, c->v_dim),
        .out = heads_span(o->out, c->q_len, c->heads * c->v_dim, c->v_dim),
        .fresh = {.present = true,
                  .k_first = c->heads * c->dim,
                  .v_first = (c->heads + c->kv_heads) * c->dim,
                  .past = c->past,
                  .table = SPAN(o->table),
                  .rotary_dim = c->rotary_dim,
                  .first_position = c->past + 1},
        .key_mask = o->lengths ? SPAN(o->lengths) : (vkf__span){0},
        .key_mask_kind = o->lengths ? VKF_MASK_LENGTHS : VKF_MASK_NONE,
        .batch = c->batch,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .q_len = c->q_len,
        .k_len = c->past + c->q_len,
        .head_dim = c->dim,
        .v_head_dim = c->v_dim,
        .mask_cols = c->past + c->q_len,
        .key_mask_batch = 1,
        .causal = true,
        .causal_offset = (int32_t)c->past,
        .window = c->window,
        .scale = 0.3f,
        .fully_masked = c->fully_masked,
    };
}

static float *copy_of(const vkf_test_operand *x)
{
    float *copy = vkf_test_floats(x->count);
    memcpy(copy, x->values, x->count * sizeof *copy);
    return copy;
}

// `heads` heads from element `from` of the rows of qkv on, rotated to `out`.
static void rotate(const fresh_case *c, const operands *o, uint32_t heads, uint32_t from, size_t out_first,
                   size_t out_batch, size_t out_row, float *out)
{
    vkf_ref_rotary(&(vkf_ref_rotary_desc){
        .batch = c->batch,
        .len = c->q_len,
        .heads = heads,
        .head_dim = c->dim,
        .rotary_dim = c->rotary_dim,
        .first_position = c->past + 1,
        .x = o->qkv->values,
        .table = o->table->values,
        .x_first = from,
        .x_batch = (size_t)c->q_len * row_of(c),
        .x_row = row_of(c),
        .out_first = out_first,
        .out_batch = out_batch,
        .out_row = out_row,
        .out = out,
    });
}

static void check_caches(vkf_test_ops *ops, const fresh_case *c, const operands *o, double tolerance)
{
    const uint32_t k_row = c->kv_heads * c->dim, v_row = c->kv_heads * c->v_dim;
    float *k = copy_of(o->k), *v = copy_of(o->v);
    rotate(c, o, c->kv_heads, c->heads * c->dim, (size_t)c->past * k_row, (size_t)cache_len(c) * k_row, k_row, k);
    for (uint32_t i = 0; i < c->batch * c->q_len; i++)
        memcpy(v + ((size_t)i / c->q_len * cache_len(c) + c->past + i % c->q_len) * v_row,
               o->qkv->values + (size_t)(i + 1) * row_of(c) - v_row, v_row * sizeof *v);
    vkf_test_download(ops, o->k);
    vkf_test_download(ops, o->v);
    assert_close(o->k->values, k, o->k->count, 1e-5, tolerance, "keys");
    // Small numbers in 16 bits are multiples of 2^-24.
    assert_close(o->v->values, v, o->v->count, o->v->tensor.dtype == VKF_DTYPE_F16 ? 0x1p-25 : 0, tolerance, "values");
    free(k);
    free(v);
}

static vkf_ref_layout layout_of(const vkf__heads_span *x)
{
    return (vkf_ref_layout){.row = x->row_stride, .outer = x->batch_stride, .inner = x->head_stride};
}

static float *expect(const fresh_case *c, const operands *o, const vkf__attention_args *args)
{
    float *q = copy_of(o->qkv), *out = copy_of(o->out);
    float *weights = vkf_test_floats((size_t)c->batch * c->heads * c->q_len * args->k_len);
    rotate(c, o, c->heads, 0, 0, (size_t)c->q_len * row_of(c), row_of(c), q);
    vkf_ref_sdpa(&(vkf_ref_sdpa_desc){
        .softmax = {.batch = c->batch,
                    .heads = c->heads,
                    .q_len = c->q_len,
                    .k_len = args->k_len,
                    .mask_cols = args->k_len,
                    .out = weights,
                    .scale = args->scale,
                    .key_mask_kind = args->key_mask_kind,
                    .key_mask = o->lengths ? o->lengths->ids : NULL,
                    .causal = true,
                    .causal_offset = args->causal_offset,
                    .window = c->window,
                    .fully_masked = c->fully_masked},
        .kv_heads = c->kv_heads,
        .head_dim = c->dim,
        .v_head_dim = c->v_dim,
        .query = q,
        .key = o->k->values,
        .value = o->v->values,
        .out = out,
        .q_layout = layout_of(&args->q),
        .k_layout = layout_of(&args->k),
        .v_layout = layout_of(&args->v),
        .out_layout = layout_of(&args->out),
    });
    free(weights);
    free(q);
    return out;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    const vkf__attention_args *attention = args;
    if (work->mode == VKF_WORK_PLAN && !vkf__attention_takes_fresh(work, attention))
        fail_msg("%u fresh keys of %u, widths %u and %u, are not taken", attention->q_len, attention->k_len,
                 attention->head_dim, attention->v_head_dim);
    return vkf__emit_attention(work, attention);
}

static void run(vkf_test_ops *ops, const fresh_case *c, vkf_dtype dtype, vkf_dtype cache)
{
    ops->aligned = true;
    const operands o = make_operands(ops, c, dtype, cache);
    const vkf__attention_args args = args_of(c, &o);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "fresh", emit, &args), "attention");
    check_caches(ops, c, &o, cache == H ? 0x1p-11 : 1e-5);
    float *expected = expect(c, &o, &args);
    vkf_test_download(ops, o.out);
    assert_close(o.out->values, expected, o.out->count, dtype == H ? 1e-4 : 5e-5, dtype == H ? 0x1p-10 : 2e-5,
                 vkf_test_label(&ops->gpu, "%u of %u heads, %u queries behind %u keys, widths %u and %u, %u rotated",
                                c->kv_heads, c->heads, c->q_len, c->past, c->dim, c->v_dim, c->rotary_dim));
    free(expected);
    vkf_test_ops_reset(ops);
}

#define SIZES(b, h, kv, l, p, d, dv, r) \
    .batch = b, .heads = h, .kv_heads = kv, .q_len = l, .past = p, .dim = d, .v_dim = dv, .rotary_dim = r

// One query, and so many that their rows take several workgroups; no key before, and so many that they are divided;
// widths that fill the lanes and that do not, of which all or a part is rotated; a window that ends between fresh keys.
// Each width is a pipeline: most come with VKF_TEST_ALL=1.
#define USUAL_CASES 6u
#define USUAL_HALF_CASES 3u
static const fresh_case CASES[] = {
    {SIZES(2, 8, 2, 1, 62, 64, 64, 64)},
    {SIZES(1, 8, 2, 1, 0, 64, 64, 64)},
    {SIZES(2, 8, 2, 3, 130, 64, 64, 64), .window = 2},
    {SIZES(1, 8, 2, 8, 27, 64, 64, 64)},
    {SIZES(3, 8, 2, 2, 5, 64, 64, 64), .lengths = true, .fully_masked = VKF_FULLY_MASKED_UNIFORM},
    {SIZES(2, 3, 1, 2, 601, 80, 16, 32)},
    {SIZES(1, 4, 4, 1, 1030, 128, 128, 128)},
    {SIZES(2, 6, 3, 8, 17, 128, 64, 8)},
    {SIZES(1, 2, 1, 1, 8, 16, 16, 16)},
    {SIZES(1, 2, 2, 5, 64, 256, 256, 64)},
};

// Groups of four invocations are so many in a workgroup that the sums of wide rows do not fit into its shared memory.
static bool is_taken(const vkf__caps *caps, const fresh_case *c)
{
    return caps->min_subgroup_size >= 8 || c->v_dim < 256;
}

static void run_all(void **state, vkf_dtype dtype, vkf_dtype cache, size_t usual)
{
    vkf_test_ops ops;
    if (!vkf_test_ops_of(state)->gpu.context->device.plan.caps.subgroup_shuffle)
        skip();
    if (vkf_test_ops_open_variant(&ops, "attention_decode.")) {
        for (size_t i = 0; i < (vkf_test_all() ? COUNT_OF(CASES) : usual); i++)
            if (is_taken(&ops.gpu.context->device.plan.caps, &CASES[i]))
                run(&ops, &CASES[i], dtype, cache);
    }
    vkf_test_ops_close(&ops);
}

static void test_fresh_keys(void **state)
{
    run_all(state, F, F, USUAL_CASES);
}

static void test_fresh_keys_in_half(void **state)
{
    run_all(state, H, H, USUAL_HALF_CASES);
}

static void test_fresh_keys_to_caches_in_half(void **state)
{
    run_all(state, F, H, USUAL_HALF_CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VKF_OPS_TEST(test_fresh_keys),
        VKF_OPS_TEST(test_fresh_keys_in_half),
        VKF_OPS_TEST(test_fresh_keys_to_caches_in_half),
    };
    return cmocka_run_group_tests_name("op_attention_fresh", tests, vkf_test_ops_setup, vkf_test_ops_teardown);
}

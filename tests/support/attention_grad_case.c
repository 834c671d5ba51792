#include "support/attention_grad_case.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/run_once.h"
#include "reference/reference.h"
#include "support/mask_operand.h"

#define SPAN(operand) vkf__span_of(&(operand)->tensor)

static uint32_t masked_keys(const vkf_test_grad_case *c)
{
    return c->k_len - c->free_keys;
}

uint32_t vkf_test_grad_heads(const vkf_test_grad_case *c, int kind)
{
    return kind == VKF_TEST_QUERY ? c->heads : c->kv_heads;
}

static uint32_t length_of(const vkf_test_grad_case *c, int kind)
{
    return kind == VKF_TEST_QUERY ? c->q_len : c->k_len;
}

uint32_t vkf_test_grad_width(const vkf_test_grad_case *c, int kind)
{
    return kind == VKF_TEST_VALUE ? c->v_dim : c->dim;
}

static vkf_test_operand *make(vkf_test_ops *ops, const vkf_test_grad_case *c, uint32_t heads, uint32_t length,
                              uint32_t width)
{
    if (c->heads_inside)
        return vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->batch, length, heads, width));
    return vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->batch, heads, length, width));
}

// Strides other than those of the reference, (heads, q_len, masked keys).
static void expect_bias(const vkf_test_grad_case *c, vkf_test_grad_operands *o, const double *dbias)
{
    const uint32_t keys = masked_keys(c);
    o->expected_bias = calloc(o->dbias->count, sizeof(double));
    assert_non_null(o->expected_bias);
    for (uint32_t h = 0; h < c->heads; h++)
        for (uint32_t i = 0; i < c->q_len * keys; i++) {
            const size_t at = ((size_t)(i / keys) * c->heads + h) * keys + i % keys;
            o->expected_bias[at] =
                dbias[(size_t)h * c->q_len * keys + i] + (c->accumulate ? (double)o->dbias->values[at] : 0);
        }
}

// Gradients begin as random numbers where they are added to, and else as NaN, which must not be read.
static vkf_test_operand *prepare_grad(vkf_test_ops *ops, const vkf_test_grad_case *c, vkf_test_operand *grad)
{
    for (size_t i = 0; i < grad->count && !c->accumulate; i++)
        grad->values[i] = NAN;
    vkf_test_upload(ops, grad);
    return grad;
}

static vkf_test_operand *make_grad(vkf_test_ops *ops, const vkf_test_grad_case *c, int kind)
{
    return prepare_grad(ops, c,
                        make(ops, c, vkf_test_grad_heads(c, kind), length_of(c, kind), vkf_test_grad_width(c, kind)));
}

static vkf_test_operand *make_mask(vkf_test_ops *ops, const vkf_test_grad_case *c)
{
    const uint32_t shape[] = {
        c->mask_dims & VKF_TEST_MASK_BATCH ? c->batch : 1,
        c->mask_dims & VKF_TEST_MASK_HEADS ? c->heads : 1,
        c->mask_dims & VKF_TEST_MASK_ROWS ? c->q_len : 1,
        masked_keys(c),
    };
    if (c->mask_kind == VKF_MASK_NONE)
        return NULL;
    return vkf_test_mask_operand(ops, c->mask_kind, c->mask_all ? masked_keys(c) : 0, 4, shape);
}

static vkf__ref_layout layout_of(const vkf_test_grad_case *c, uint32_t heads, uint32_t length, uint32_t width)
{
    const size_t outer = (size_t)heads * length * width;
    if (c->heads_inside)
        return (vkf__ref_layout){.row = (size_t)heads * width, .outer = outer, .inner = width};
    return (vkf__ref_layout){.row = width, .outer = outer, .inner = (size_t)length * width};
}

static vkf__ref_layout layout_of_kind(const vkf_test_grad_case *c, int kind)
{
    return layout_of(c, vkf_test_grad_heads(c, kind), length_of(c, kind), vkf_test_grad_width(c, kind));
}

static vkf__ref_sdpa_desc forward_of(const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    return (vkf__ref_sdpa_desc){
        .softmax = {.batch = c->batch,
                    .heads = c->heads,
                    .q_len = c->q_len,
                    .k_len = c->k_len,
                    .mask_cols = masked_keys(c),
                    .scale = (float)(1 / sqrt(c->dim)),
                    .mask_kind = c->mask_kind,
                    .mask = vkf_test_content_of(o->mask),
                    .mask_batch = vkf_test_broadcast_stride(o->mask, 3),
                    .mask_head = vkf_test_broadcast_stride(o->mask, 2),
                    .mask_row = vkf_test_broadcast_stride(o->mask, 1),
                    .key_mask_kind = c->key_mask_kind,
                    .key_mask = vkf_test_content_of(o->key_mask),
                    .causal = c->causal,
                    .causal_offset = c->causal_offset,
                    .window = c->window,
                    .fully_masked = c->fully_masked},
        .kv_heads = c->kv_heads,
        .head_dim = c->dim,
        .v_head_dim = c->v_dim,
        .query = o->x[VKF_TEST_QUERY]->values,
        .key = o->x[VKF_TEST_KEY]->values,
        .value = o->x[VKF_TEST_VALUE]->values,
        .out = o->out->values,
        .q_layout = layout_of_kind(c, VKF_TEST_QUERY),
        .k_layout = layout_of_kind(c, VKF_TEST_KEY),
        .v_layout = layout_of_kind(c, VKF_TEST_VALUE),
        .out_layout = layout_of(c, c->heads, c->q_len, c->v_dim),
    };
}

// The output of the forward pass and its row stats, as attention has left them; NaN and 0 of rows that see no key.
static void attend(vkf_test_ops *ops, const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    double *scratch = calloc(2 * (size_t)c->k_len, sizeof(double));
    assert_non_null(scratch);
    const vkf__ref_sdpa_grad_desc desc = {.forward = forward_of(c, o), .scratch = scratch};
    const size_t rows = o->row_stats->count / 2;
    memset(o->row_stats->values + rows, 0, rows * sizeof(float));
    vkf__ref_sdpa_train(&desc, o->row_stats->values);
    free(scratch);
    vkf_test_upload(ops, o->out);
    vkf_test_upload(ops, o->row_stats);
}

static void fill_row(vkf_test_operand *x, const vkf__ref_layout *layout, uint32_t b, uint32_t heads, uint32_t row,
                     uint32_t width)
{
    for (uint32_t h = 0; h < heads; h++)
        for (uint32_t i = 0; i < width; i++)
            x->values[b * layout->outer + h * layout->inner + row * layout->row + i] = NAN;
}

static bool is_hidden(const vkf_test_grad_case *c, const vkf_test_grad_operands *o, uint32_t b, uint32_t key)
{
    if (key >= masked_keys(c))
        return false;
    if (c->key_mask_kind == VKF_MASK_LENGTHS)
        return (int32_t)key >= o->key_mask->ids[b];
    return c->key_mask_kind == VKF_MASK_BOOL_EXCLUDE && o->key_mask->bools[b * masked_keys(c) + key];
}

// Hidden keys and values are no numbers, and neither are queries, and the gradients of outputs, of batch entry 0, where
// mask_all leaves them no key.
static void spoil(vkf_test_ops *ops, const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    const vkf__ref_layout query = layout_of_kind(c, VKF_TEST_QUERY), out = layout_of(c, c->heads, c->q_len, c->v_dim),
                          key = layout_of_kind(c, VKF_TEST_KEY), value = layout_of_kind(c, VKF_TEST_VALUE);
    for (uint32_t i = 0; i < c->batch * c->k_len; i++) {
        if (!is_hidden(c, o, i / c->k_len, i % c->k_len))
            continue;
        fill_row(o->x[VKF_TEST_KEY], &key, i / c->k_len, c->kv_heads, i % c->k_len, c->dim);
        fill_row(o->x[VKF_TEST_VALUE], &value, i / c->k_len, c->kv_heads, i % c->k_len, c->v_dim);
    }
    for (uint32_t l = 0; l < c->q_len && c->mask_all; l++) {
        fill_row(o->x[VKF_TEST_QUERY], &query, 0, c->heads, l, c->dim);
        fill_row(o->dout, &out, 0, c->heads, l, c->v_dim);
    }
    for (int kind = 0; kind < VKF_TEST_KINDS; kind++)
        vkf_test_upload(ops, o->x[kind]);
    vkf_test_upload(ops, o->dout);
}

static void expect(const vkf_test_grad_case *c, vkf_test_grad_operands *o)
{
    vkf__ref_sdpa_grad_desc desc = {.forward = forward_of(c, o), .dout = o->dout->values};
    for (int kind = 0; kind < VKF_TEST_KINDS; kind++) {
        o->expected[kind] = calloc(o->grad[kind]->count, sizeof(double));
        assert_non_null(o->expected[kind]);
    }
    desc.dq = o->expected[VKF_TEST_QUERY];
    desc.dk = o->expected[VKF_TEST_KEY];
    desc.dv = o->expected[VKF_TEST_VALUE];
    desc.scratch = calloc(2 * (size_t)c->k_len, sizeof(double));
    desc.dbias = c->biased ? calloc(o->dbias->count, sizeof(double)) : NULL;
    assert_true(desc.scratch && !desc.dbias == !c->biased);
    vkf__ref_sdpa_grad(&desc);
    if (c->biased)
        expect_bias(c, o, desc.dbias);
    free(desc.dbias);
    free(desc.scratch);
    for (int kind = 0; kind < VKF_TEST_KINDS; kind++)
        for (size_t i = 0; i < o->grad[kind]->count && c->accumulate; i++)
            o->expected[kind][i] += o->grad[kind]->values[i];
}

vkf_test_grad_operands vkf_test_grad_make(vkf_test_ops *ops, const vkf_test_grad_case *c)
{
    vkf_test_grad_operands o = {0};
    for (int kind = 0; kind < VKF_TEST_KINDS; kind++) {
        o.x[kind] = make(ops, c, vkf_test_grad_heads(c, kind), length_of(c, kind), vkf_test_grad_width(c, kind));
        o.grad[kind] = make_grad(ops, c, kind);
    }
    o.out = make(ops, c, c->heads, c->q_len, c->v_dim);
    o.dout = make(ops, c, c->heads, c->q_len, c->v_dim);
    if (c->biased)
        o.dbias =
            prepare_grad(ops, c, vkf_test_normal(ops, VKF_DTYPE_F32, 0, 1, SHAPE(c->q_len, c->heads, masked_keys(c))));
    o.mask = make_mask(ops, c);
    o.key_mask = vkf_test_key_mask_operand(ops, c->key_mask_kind, c->batch, masked_keys(c), c->mask_all);
    o.row_stats =
        vkf_test_constant(ops, VKF_DTYPE_F32, NAN, SHAPE(2, c->batch, c->heads, c->q_len));
    attend(ops, c, &o);
    if (c->spoil)
        spoil(ops, c, &o);
    expect(c, &o);
    return o;
}

static vkf__heads_span heads_span(const vkf_test_operand *operand, vkf__ref_layout layout)
{
    return (vkf__heads_span){SPAN(operand), (uint32_t)layout.outer, (uint32_t)layout.row, (uint32_t)layout.inner};
}

static vkf__attention_args forward_args(const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    const vkf_tensor mask = vkf_test_tensor_of(o->mask), key_mask = vkf_test_tensor_of(o->key_mask);
    return (vkf__attention_args){
        .q = heads_span(o->x[VKF_TEST_QUERY], layout_of_kind(c, VKF_TEST_QUERY)),
        .k = heads_span(o->x[VKF_TEST_KEY], layout_of_kind(c, VKF_TEST_KEY)),
        .v = heads_span(o->x[VKF_TEST_VALUE], layout_of_kind(c, VKF_TEST_VALUE)),
        .out = heads_span(o->out, layout_of(c, c->heads, c->q_len, c->v_dim)),
        .mask = vkf__span_of(&mask),
        .key_mask = vkf__span_of(&key_mask),
        .mask_kind = c->mask_kind,
        .key_mask_kind = c->key_mask_kind,
        .batch = c->batch,
        .heads = c->heads,
        .kv_heads = c->kv_heads,
        .q_len = c->q_len,
        .k_len = c->k_len,
        .head_dim = c->dim,
        .v_head_dim = c->v_dim,
        .mask_cols = masked_keys(c),
        .mask_batch = (uint32_t)vkf_test_broadcast_stride(o->mask, 3),
        .mask_head = (uint32_t)vkf_test_broadcast_stride(o->mask, 2),
        .mask_row = (uint32_t)vkf_test_broadcast_stride(o->mask, 1),
        .key_mask_batch = c->key_mask_kind == VKF_MASK_LENGTHS ? 1 : masked_keys(c),
        .causal = c->causal,
        .causal_offset = c->causal_offset,
        .window = c->window,
        .scale = (float)(1 / sqrt(c->dim)),
        .fully_masked = c->fully_masked,
    };
}

vkf__attention_grad_args vkf_test_grad_args(const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    const vkf__heads_span none = {0};
    const uint32_t keys = masked_keys(c);
    return (vkf__attention_grad_args){
        .label = "grad",
        .forward = forward_args(c, o),
        .dout = heads_span(o->dout, layout_of(c, c->heads, c->q_len, c->v_dim)),
        .dq = c->without_query ? none : heads_span(o->grad[VKF_TEST_QUERY], layout_of_kind(c, VKF_TEST_QUERY)),
        .dk = heads_span(o->grad[VKF_TEST_KEY], layout_of_kind(c, VKF_TEST_KEY)),
        .dv = c->without_value ? none : heads_span(o->grad[VKF_TEST_VALUE], layout_of_kind(c, VKF_TEST_VALUE)),
        .dbias = c->biased ? (vkf__heads_span){SPAN(o->dbias), 0, c->heads * keys, keys} : none,
        .row_stats = SPAN(o->row_stats),
        .accumulate_q = c->accumulate,
        .accumulate_k = c->accumulate,
        .accumulate_v = c->accumulate,
        .accumulate_bias = c->accumulate,
    };
}

vkf_status vkf_test_grad_emit(vkf__work *work, const void *args)
{
    return vkf__emit_attention_grad(work, args);
}

static vkf_status emit_train(vkf__work *work, const void *args)
{
    return vkf__emit_attention_train(work, args);
}

// Every gradient is a sum of products of weights with numbers that are about as large as the gradient's largest. The
// weights err by what exp() does and by its argument's rounding, which is 2^-24 times a score of up to 20 or so, and
// the other factors and the sums by some roundings: 2e-5 in all.
static void compare(vkf_test_ops *ops, const vkf_test_grad_case *c, vkf_test_operand *grad, const double *expected,
                    const char *name)
{
    float *rounded = vkf_test_floats(grad->count);
    double largest = 1;
    for (size_t i = 0; i < grad->count; i++) {
        rounded[i] = (float)expected[i];
        largest = fmax(largest, fabs(expected[i])); // fmax passes over NaN
    }
    vkf_test_download(ops, grad);
    assert_close(grad->values, rounded, grad->count, 2e-5 * largest, 2e-5,
                 vkf_test_label(&ops->gpu,
                                "gradient of %s: batch %u, heads %u and %u, queries %u, keys %u and %u, dims %u and %u,"
                                " mask %d over %u, key mask %d, causal %d by %d, window %u%s%s%s%s",
                                name, c->batch, c->heads, c->kv_heads, c->q_len, masked_keys(c), c->free_keys, c->dim,
                                c->v_dim, (int)c->mask_kind, c->mask_dims, (int)c->key_mask_kind, c->causal,
                                c->causal_offset, c->window, c->mask_all ? ", masked rows" : "",
                                c->heads_inside ? ", heads inside" : "", c->accumulate ? ", added" : "",
                                c->attends ? ", after attention" : ""));
    free(rounded);
}

vkf_test_grad_case vkf_test_grad_resolve(vkf_test_grad_case c)
{
    c.kv_heads = c.kv_heads > 0 ? c.kv_heads : c.heads;
    c.v_dim = c.v_dim > 0 ? c.v_dim : c.dim;
    return c;
}

void vkf_test_grad_compare(vkf_test_ops *ops, const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    if (!c->without_query)
        compare(ops, c, o->grad[VKF_TEST_QUERY], o->expected[VKF_TEST_QUERY], "queries");
    compare(ops, c, o->grad[VKF_TEST_KEY], o->expected[VKF_TEST_KEY], "keys");
    if (!c->without_value)
        compare(ops, c, o->grad[VKF_TEST_VALUE], o->expected[VKF_TEST_VALUE], "values");
    if (c->biased)
        compare(ops, c, o->dbias, o->expected_bias, "biases");
}

void vkf_test_grad_finish(vkf_test_ops *ops, const vkf_test_grad_operands *o)
{
    for (int kind = 0; kind < VKF_TEST_KINDS; kind++)
        free(o->expected[kind]);
    free(o->expected_bias);
    vkf_test_ops_reset(ops);
}

static void compare_forward(vkf_test_ops *ops, vkf_test_operand *operand, const float *expected, const char *name)
{
    vkf_test_download(ops, operand);
    assert_close(operand->values, expected, operand->count, 3e-5, 2e-5, vkf_test_label(&ops->gpu, "%s", name));
}

static float *copy_of(const vkf_test_operand *operand)
{
    return memcpy(vkf_test_floats(operand->count), operand->values, operand->count * sizeof(float));
}

void vkf_test_grad_attend(vkf_test_ops *ops, const vkf_test_grad_case *c, const vkf_test_grad_operands *o)
{
    const vkf__attention_train_args args = {.forward = forward_args(c, o), .row_stats = SPAN(o->row_stats)};
    float *out = copy_of(o->out), *row_stats = copy_of(o->row_stats);
    for (size_t i = 0; i < o->row_stats->count; i++)
        row_stats[i] = isnan(row_stats[i]) ? -FLT_MAX : row_stats[i];
    for (size_t i = 0; i < o->out->count; i++)
        o->out->values[i] = NAN;
    vkf_test_upload(ops, o->out);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "attention", emit_train, &args), "attention");
    compare_forward(ops, o->out, out, "output");
    compare_forward(ops, o->row_stats, row_stats, "row stats");
    free(row_stats);
    free(out);
}

void vkf_test_grad_check(vkf_test_ops *ops, vkf_test_grad_case unresolved)
{
    const vkf_test_grad_case c = vkf_test_grad_resolve(unresolved);
    const vkf_test_grad_operands o = vkf_test_grad_make(ops, &c);
    const vkf__attention_grad_args args = vkf_test_grad_args(&c, &o);
    if (c.attends)
        vkf_test_grad_attend(ops, &c, &o);
    vkf_test_assert_ok(ops, vkf__run_once(ops->gpu.context, "grad", vkf_test_grad_emit, &args),
                       "gradients of attention");
    vkf_test_grad_compare(ops, &c, &o);
    vkf_test_grad_finish(ops, &o);
}

// Makes the operands of an attention, runs it, and compares it with the reference.
#include "support/sdpa_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/reference.h"
#include "support/taken_kernel.h"

typedef struct sdpa_operands {
    vkf_test_operand *query, *key, *value, *mask, *key_mask, *out;
} sdpa_operands;

// With the defaults spelt out, and what becomes of scores.
static vkf_test_sdpa_case resolve(vkf_test_ops *ops, const vkf_test_sdpa_case *c)
{
    vkf_test_sdpa_case full = *c;
    vkf_test_make_form(ops, &full.form, c->heads);
    full.kv_heads = c->kv_heads > 0 ? c->kv_heads : c->heads;
    full.v_dim = c->v_dim > 0 ? c->v_dim : c->dim;
    full.kv_dtype = c->kv_dtype > 0 ? c->kv_dtype : c->dtype;
    return full;
}

static vkf_test_operand *make_mask(vkf_test_ops *ops, const vkf_test_sdpa_case *c)
{
    const uint32_t shape[] = {
        c->mask_dims & VKF_TEST_MASK_BATCH ? c->batch : 1,
        c->mask_dims & VKF_TEST_MASK_HEADS ? c->heads : 1,
        c->mask_dims & VKF_TEST_MASK_ROWS ? c->q_len : 1,
        c->k_len,
    };
    uint32_t rank = c->mask_dims >= VKF_TEST_MASK_BATCH   ? 4
                    : c->mask_dims >= VKF_TEST_MASK_HEADS ? 3
                    : c->mask_dims >= VKF_TEST_MASK_ROWS  ? 2
                                                          : 1;
    if (c->mask_kind == VKF_MASK_NONE)
        return NULL;
    return vkf_test_mask_operand(ops, c->mask_kind, c->mask_all ? c->k_len : 0, rank, shape + 4 - rank);
}

static sdpa_operands make_operands(vkf_test_ops *ops, const vkf_test_sdpa_case *c)
{
    sdpa_operands o = {
        .query = vkf_test_normal(ops, c->dtype, 0, 1, SHAPE(c->batch, c->heads, c->q_len, c->dim)),
        .key = vkf_test_normal(ops, c->kv_dtype, 0, 1, SHAPE(c->batch, c->kv_heads, c->k_len, c->dim)),
        .value = vkf_test_normal(ops, c->kv_dtype, 0, 1, SHAPE(c->batch, c->kv_heads, c->k_len, c->v_dim)),
        .mask = make_mask(ops, c),
        .key_mask = vkf_test_key_mask_operand(ops, c->key_mask_kind, c->batch, c->k_len, c->mask_all),
        .out = vkf_test_output(ops, c->dtype, SHAPE(c->batch, c->heads, c->q_len, c->v_dim)),
    };
    if (c->prepare) {
        c->prepare(o.query, o.key, o.value);
        vkf_test_upload(ops, o.query);
        vkf_test_upload(ops, o.key);
        vkf_test_upload(ops, o.value);
    }
    return o;
}

static vkf_ref_softmax_desc softmax_of(const vkf_test_sdpa_case *c, const sdpa_operands *o, float *scores)
{
    vkf_ref_softmax_desc desc = {
        .batch = c->batch,
        .heads = c->heads,
        .q_len = c->q_len,
        .k_len = c->k_len,
        .mask_cols = c->k_len,
        .out = scores,
        .scale = c->scale == 0.0f ? (float)(1 / sqrt(c->dim)) : c->scale,
        .mask_kind = c->mask_kind,
        .mask = vkf_test_content_of(o->mask),
        .mask_batch = vkf_test_broadcast_stride(o->mask, 3),
        .mask_head = vkf_test_broadcast_stride(o->mask, 2),
        .mask_row = vkf_test_broadcast_stride(o->mask, 1),
        .key_mask_kind = c->key_mask_kind,
        .key_mask = vkf_test_content_of(o->key_mask),
        .window = c->window,
        .fully_masked = c->fully_masked,
    };
    vkf_ref_place_queries(&desc, c->causal);
    vkf_test_expect_form(&c->form, &desc);
    return desc;
}

// (batch, heads, length, width)
static vkf_ref_layout layout_of(uint32_t heads, uint32_t length, uint32_t width)
{
    size_t head = (size_t)length * width;
    return (vkf_ref_layout){.row = width, .outer = heads * head, .inner = head};
}

static float *expect(const vkf_test_sdpa_case *c, const sdpa_operands *o)
{
    float *expected = vkf_test_floats(o->out->count);
    float *scores = vkf_test_floats((size_t)c->batch * c->heads * c->q_len * c->k_len);
    vkf_ref_sdpa(&(vkf_ref_sdpa_desc){
        .softmax = softmax_of(c, o, scores),
        .kv_heads = c->kv_heads,
        .head_dim = c->dim,
        .v_head_dim = c->v_dim,
        .query = o->query->values,
        .key = o->key->values,
        .value = o->value->values,
        .out = expected,
        .q_layout = layout_of(c->heads, c->q_len, c->dim),
        .k_layout = layout_of(c->kv_heads, c->k_len, c->dim),
        .v_layout = layout_of(c->kv_heads, c->k_len, c->v_dim),
        .out_layout = layout_of(c->heads, c->q_len, c->v_dim),
    });
    free(scores);
    return expected;
}

static vkf_sdpa_desc desc_of(const vkf_test_sdpa_case *c, const sdpa_operands *o)
{
    return (vkf_sdpa_desc){
        .query = o->query->tensor,
        .key = o->key->tensor,
        .value = o->value->tensor,
        .out = o->out->tensor,
        .scale = c->scale,
        .mask_kind = c->mask_kind,
        .mask = vkf_test_tensor_of(o->mask),
        .key_mask_kind = c->key_mask_kind,
        .key_mask = vkf_test_tensor_of(o->key_mask),
        .causal = c->causal,
        .window = c->window,
        .fully_masked = c->fully_masked,
        .window_right = c->form.window_right,
        .soft_cap = c->form.soft_cap,
        .slopes = vkf_test_tensor_of(c->form.slopes),
        .sinks = vkf_test_tensor_of(c->form.sinks),
    };
}

// Matrices round the weights to the type of the values.
static double matrix_rounding(const vkf_test_sdpa_case *c)
{
    return c->dtype == VKF_DTYPE_F16 && strstr(vkf_test_taken_kernel(), "coopmat") ? 4e-3 : 0;
}

void vkf_test_sdpa_run(vkf_test_ops *ops, const vkf_test_sdpa_case *sdpa, double atol, double rtol)
{
    const vkf_test_sdpa_case full = resolve(ops, sdpa), *c = &full;
    const sdpa_operands o = make_operands(ops, c);
    const vkf_sdpa_desc desc = desc_of(c, &o);
    vkf_test_watch_kernels(ops->gpu.context, VKF_OP_ATTENTION);
    vkf_test_assert_ok(ops, vkf_scaled_dot_product_attention(ops->gpu.context, &desc), "attention");
    vkf_test_unwatch_kernels(ops->gpu.context);
    vkf_test_download(ops, o.out);
    float *expected = expect(c, &o);
    const char *label = vkf_test_label(
        &ops->gpu,
        "%s: %s and %s, batch %u, heads %u and %u, queries %u, keys %u, dims %u and %u, mask %d over %u, key mask %d,"
        " causal %d, window %u and %u, cap %g, rule %d%s%s%s%s",
        vkf_test_taken_kernel(), vkf_dtype_name(c->dtype), vkf_dtype_name(c->kv_dtype), c->batch, c->heads, c->kv_heads,
        c->q_len, c->k_len, c->dim, c->v_dim, (int)c->mask_kind, c->mask_dims, (int)c->key_mask_kind, (int)c->causal,
        c->window, c->form.window_right, (double)c->form.soft_cap, (int)c->fully_masked,
        c->form.sloped ? ", slopes" : "", c->form.sunk ? ", sinks" : "", c->mask_all ? ", masked rows" : "",
        ops->aligned ? ", aligned" : "");
    assert_close(o.out->values, expected, o.out->count, fmax(atol, matrix_rounding(c)), rtol, label);
    free(expected);
    vkf_test_ops_reset(ops);
}

void vkf_test_sdpa_check(vkf_test_ops *ops, const vkf_test_sdpa_case *c)
{
    bool half = c->dtype == VKF_DTYPE_F16;
    vkf_test_sdpa_run(ops, c, half ? 1e-4 : 3e-5, half ? 0x1p-10 : 2e-5);
}

// Attention: its core over heads that lie anywhere, and whole multi-head attention with its projections.
#include "support/reference.h"

#include <math.h>
#include <string.h>

// Sizes with their defaults spelt out, and the intermediate results.
typedef struct attention {
    const vkf_ref_attention_desc *desc;
    uint32_t head_dim, v_head_dim, kdim, vdim;
    uint32_t keys;  // S' = S and the keys that are always visible
    float *query;   // (B, L, H * head_dim), projected
    float *key;     // (B, S', H * head_dim)
    float *value;   // (B, S', H * v_head_dim)
    float *weights; // (B, H, L, S')
    float *heads;   // (B, L, H * v_head_dim)
} attention;

static vkf_status attention_init(attention *work, const vkf__host *host, const vkf_ref_attention_desc *desc)
{
    *work = (attention){.desc = desc};
    work->head_dim = desc->head_dim > 0 ? desc->head_dim : desc->embed_dim / desc->num_heads;
    work->v_head_dim = desc->v_head_dim > 0 ? desc->v_head_dim : work->head_dim;
    work->kdim = desc->kdim > 0 ? desc->kdim : desc->embed_dim;
    work->vdim = desc->vdim > 0 ? desc->vdim : desc->embed_dim;
    work->keys = desc->k_len + (desc->bias_k ? 1 : 0) + (desc->add_zero_attn ? 1 : 0);
    size_t queries = (size_t)desc->batch * desc->q_len;
    size_t keys = (size_t)desc->batch * work->keys;
    VKF_ALLOC_OR_RETURN(host, work->query, queries * desc->num_heads * work->head_dim);
    VKF_ALLOC_OR_RETURN(host, work->key, keys * desc->num_heads * work->head_dim);
    VKF_ALLOC_OR_RETURN(host, work->value, keys * desc->num_heads * work->v_head_dim);
    VKF_ALLOC_OR_RETURN(host, work->weights, queries * desc->num_heads * work->keys);
    VKF_ALLOC_OR_RETURN(host, work->heads, queries * desc->num_heads * work->v_head_dim);
    return VKF_OK;
}

static void attention_finish(attention *work, const vkf__host *host)
{
    vkf__free(host, work->query);
    vkf__free(host, work->key);
    vkf__free(host, work->value);
    vkf__free(host, work->weights);
    vkf__free(host, work->heads);
}

// out[b, 0:len, :] = x[b] weight^T + bias; out has room for out_len rows per batch entry.
static void project(const attention *work, const float *x, uint32_t len, uint32_t in, const float *weight,
                    const float *bias, float *out, uint32_t out_len, uint32_t width)
{
    vkf_ref_gemm(&(vkf_ref_gemm_desc){
        .m = len,
        .n = width,
        .k = in,
        .batch = work->desc->batch,
        .a = x,
        .b = weight,
        .bias = bias,
        .out = out,
        .b_layout = {.row = in},
        .out_layout = {.row = width, .outer = (size_t)out_len * width},
        .transpose_b = true,
        .alpha = 1,
    });
}

// Turns the heads of (batch, len) rows, which lie `head_dim` apart.
static void rotate(const attention *work, float *rows, uint32_t len, uint32_t row_count)
{
    const vkf_ref_attention_desc *desc = work->desc;
    const uint32_t pairs = desc->rotary ? desc->rotary_dim / 2 : 0, step = desc->interleaved ? 2 : 1;
    const size_t heads = (size_t)desc->batch * row_count * desc->num_heads;
    for (size_t at = 0; at < heads; at++) {
        const size_t position = at / desc->num_heads % row_count;
        for (uint32_t i = 0; i < pairs && position < len; i++) {
            float *low = rows + at * work->head_dim + (size_t)step * i, *high = low + (desc->interleaved ? 1 : pairs);
            const double cosine = desc->rotary[position * desc->rotary_dim + i];
            const double sine = desc->rotary[position * desc->rotary_dim + pairs + i], x = *low, y = *high;
            *low = (float)(x * cosine - y * sine);
            *high = (float)(y * cosine + x * sine);
        }
    }
}

// Puts bias_k or bias_v behind the projected rows. The zero row of add_zero_attn is there already, because allocated
// memory is zeroed.
static void append_bias(const attention *work, const float *bias, float *rows, size_t width)
{
    if (!bias)
        return;
    for (size_t b = 0; b < work->desc->batch; b++)
        memcpy(rows + (b * work->keys + work->desc->k_len) * width, bias, width * sizeof *rows);
}

// The layout of a key head's rows, for each of the query heads that share it.
static vkf_ref_layout shared_layout(vkf_ref_layout layout)
{
    layout.inner = 0;
    return layout;
}

// The scores of the query heads that share key head `kv_head`. Entry b * group + i of the product's batch is query head
// i of the group in batch entry b.
static void score_group(const vkf_ref_sdpa_desc *desc, uint32_t group, size_t kv_head)
{
    const vkf_ref_softmax_desc *softmax = &desc->softmax;
    const size_t first_head = kv_head * group, plane = (size_t)softmax->q_len * softmax->k_len;
    vkf_ref_gemm(&(vkf_ref_gemm_desc){
        .m = softmax->q_len,
        .n = softmax->k_len,
        .k = desc->head_dim,
        .batch = softmax->batch * group,
        .batch_inner = group,
        .a = desc->query + first_head * desc->q_layout.inner,
        .b = desc->key + kv_head * desc->k_layout.inner,
        .out = softmax->out + first_head * plane,
        .a_layout = desc->q_layout,
        .b_layout = shared_layout(desc->k_layout),
        .out_layout = {.row = softmax->k_len, .outer = softmax->heads * plane, .inner = plane},
        .transpose_b = true,
        .alpha = 1,
    });
}

// The values of the same heads, weighted by the softmax of their scores.
static void weigh_group(const vkf_ref_sdpa_desc *desc, uint32_t group, size_t kv_head)
{
    const vkf_ref_softmax_desc *softmax = &desc->softmax;
    const size_t first_head = kv_head * group, plane = (size_t)softmax->q_len * softmax->k_len;
    vkf_ref_gemm(&(vkf_ref_gemm_desc){
        .m = softmax->q_len,
        .n = desc->v_head_dim,
        .k = softmax->k_len,
        .batch = softmax->batch * group,
        .batch_inner = group,
        .a = softmax->out + first_head * plane,
        .b = desc->value + kv_head * desc->v_layout.inner,
        .out = desc->out + first_head * desc->out_layout.inner,
        .a_layout = {.row = softmax->k_len, .outer = softmax->heads * plane, .inner = plane},
        .b_layout = shared_layout(desc->v_layout),
        .out_layout = desc->out_layout,
        .alpha = 1,
    });
}

void vkf_ref_sdpa(const vkf_ref_sdpa_desc *desc)
{
    uint32_t group = desc->softmax.heads / desc->kv_heads;
    vkf_ref_softmax_desc softmax = desc->softmax;
    softmax.x = softmax.out;
    for (uint32_t g = 0; g < desc->kv_heads; g++)
        score_group(desc, group, g);
    vkf_ref_softmax(&softmax);
    for (uint32_t g = 0; g < desc->kv_heads; g++)
        weigh_group(desc, group, g);
}

static vkf_ref_layout heads_layout(const attention *work, uint32_t len, uint32_t head_dim)
{
    size_t width = (size_t)work->desc->num_heads * head_dim;
    return (vkf_ref_layout){.row = width, .outer = len * width, .inner = head_dim};
}

static vkf_ref_softmax_desc softmax_of(const attention *work)
{
    const vkf_ref_attention_desc *desc = work->desc;
    size_t plane = (size_t)desc->q_len * desc->k_len;
    vkf_ref_softmax_desc softmax = {
        .batch = desc->batch,
        .heads = desc->num_heads,
        .q_len = desc->q_len,
        .k_len = work->keys,
        .mask_cols = desc->k_len,
        .out = work->weights,
        .scale = (float)(1 / sqrt((double)work->head_dim)),
        .mask_kind = desc->mask.kind,
        .mask = desc->mask_values,
        .mask_batch = desc->mask.per_head ? plane * desc->num_heads : 0,
        .mask_head = desc->mask.per_head ? plane : 0,
        .mask_row = desc->k_len,
        .key_mask_kind = desc->mask.key_kind,
        .key_mask = desc->key_mask_values,
        .window = desc->mask.window,
        .right = desc->mask.window_right,
        .soft_cap = desc->mask.soft_cap,
        .slopes = desc->slopes,
        .sinks = desc->sinks,
        .fully_masked = desc->fully_masked,
    };
    vkf_ref_place_queries(&softmax, desc->mask.causal);
    softmax.causal = softmax.causal || desc->mask.window > 0 || desc->mask.window_right > 0;
    return softmax;
}

static void attend(const attention *work)
{
    const vkf_ref_attention_desc *desc = work->desc;
    vkf_ref_sdpa(&(vkf_ref_sdpa_desc){
        .softmax = softmax_of(work),
        .kv_heads = desc->num_heads,
        .head_dim = work->head_dim,
        .v_head_dim = work->v_head_dim,
        .query = work->query,
        .key = work->key,
        .value = work->value,
        .out = work->heads,
        .q_layout = heads_layout(work, desc->q_len, work->head_dim),
        .k_layout = heads_layout(work, work->keys, work->head_dim),
        .v_layout = heads_layout(work, work->keys, work->v_head_dim),
        .out_layout = heads_layout(work, desc->q_len, work->v_head_dim),
    });
}

static void give_weights(const attention *work)
{
    const vkf_ref_attention_desc *desc = work->desc;
    size_t plane = (size_t)desc->q_len * work->keys;
    if (desc->weights_per_head)
        memcpy(desc->weights_per_head, work->weights, (size_t)desc->batch * desc->num_heads * plane * sizeof(float));
    if (!desc->weights)
        return;
    for (size_t b = 0; b < desc->batch; b++)
        for (size_t i = 0; i < plane; i++) {
            double sum = 0;
            for (size_t h = 0; h < desc->num_heads; h++)
                sum += work->weights[(b * desc->num_heads + h) * plane + i];
            desc->weights[b * plane + i] = (float)(sum / desc->num_heads);
        }
}

vkf_status vkf_ref_attention(const vkf__host *host, const vkf_ref_attention_desc *desc)
{
    vkf_status status = VKF_OK;
    attention work;
    VKF_TRY(attention_init(&work, host, desc));
    uint32_t width = desc->num_heads * work.head_dim;
    uint32_t v_width = desc->num_heads * work.v_head_dim;
    project(&work, desc->query, desc->q_len, desc->embed_dim, desc->q_weight, desc->q_bias, work.query, desc->q_len,
            width);
    project(&work, desc->key, desc->k_len, work.kdim, desc->k_weight, desc->k_bias, work.key, work.keys, width);
    project(&work, desc->value, desc->k_len, work.vdim, desc->v_weight, desc->v_bias, work.value, work.keys, v_width);
    rotate(&work, work.query, desc->q_len, desc->q_len);
    rotate(&work, work.key, desc->k_len, work.keys);
    append_bias(&work, desc->bias_k, work.key, width);
    append_bias(&work, desc->bias_v, work.value, v_width);
    attend(&work);
    give_weights(&work);
    project(&work, work.heads, desc->q_len, v_width, desc->out_weight, desc->out_bias, desc->out, desc->q_len,
            desc->embed_dim);
fail:
    attention_finish(&work, host);
    return status;
}

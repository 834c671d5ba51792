#include "reference/reference.h"

#include <math.h>
#include <string.h>

// Sizes with their defaults spelt out, and the intermediate results.
typedef struct attention {
    const vkf__ref_attention_desc *desc;
    uint32_t head_dim, v_head_dim, kdim, vdim;
    uint32_t keys;  // S' = S and the keys that are always visible
    float *query;   // (B, L, H * head_dim), projected
    float *key;     // (B, S', H * head_dim)
    float *value;   // (B, S', H * v_head_dim)
    float *weights; // (B, H, L, S')
    float *heads;   // (B, L, H * v_head_dim)
} attention;

static vkf_status attention_init(attention *work, const vkf__host *host, const vkf__ref_attention_desc *desc)
{
    vkf_status status = VKF_OK;
    *work = (attention){.desc = desc};
    work->head_dim = desc->head_dim > 0 ? desc->head_dim : desc->embed_dim / desc->num_heads;
    work->v_head_dim = desc->v_head_dim > 0 ? desc->v_head_dim : work->head_dim;
    work->kdim = desc->kdim > 0 ? desc->kdim : desc->embed_dim;
    work->vdim = desc->vdim > 0 ? desc->vdim : desc->embed_dim;
    work->keys = desc->k_len + (desc->bias_k ? 1 : 0) + (desc->add_zero_attn ? 1 : 0);
    size_t queries = (size_t)desc->batch * desc->q_len;
    size_t keys = (size_t)desc->batch * work->keys;
    VKF_ALLOC(host, work->query, queries * desc->num_heads * work->head_dim);
    VKF_ALLOC(host, work->key, keys * desc->num_heads * work->head_dim);
    VKF_ALLOC(host, work->value, keys * desc->num_heads * work->v_head_dim);
    VKF_ALLOC(host, work->weights, queries * desc->num_heads * work->keys);
    VKF_ALLOC(host, work->heads, queries * desc->num_heads * work->v_head_dim);
fail:
    return status;
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
    vkf__ref_gemm(&(vkf__ref_gemm_desc){
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

// bias_k or bias_v follows the projected rows; the zero row of add_zero_attn is there already, as memory begins zeroed.
static void append_bias(const attention *work, const float *bias, float *rows, size_t width)
{
    if (!bias)
        return;
    for (size_t b = 0; b < work->desc->batch; b++)
        memcpy(rows + (b * work->keys + work->desc->k_len) * width, bias, width * sizeof *rows);
}

static vkf__ref_layout heads_layout(const attention *work, uint32_t len, uint32_t head_dim)
{
    size_t width = (size_t)work->desc->num_heads * head_dim;
    return (vkf__ref_layout){.row = width, .outer = len * width, .inner = head_dim};
}

static void score_heads(const attention *work)
{
    const vkf__ref_attention_desc *desc = work->desc;
    vkf__ref_gemm(&(vkf__ref_gemm_desc){
        .m = desc->q_len,
        .n = work->keys,
        .k = work->head_dim,
        .batch = desc->batch * desc->num_heads,
        .batch_inner = desc->num_heads,
        .a = work->query,
        .b = work->key,
        .out = work->weights,
        .a_layout = heads_layout(work, desc->q_len, work->head_dim),
        .b_layout = heads_layout(work, work->keys, work->head_dim),
        .transpose_b = true,
        .alpha = 1,
    });
}

static void normalise_scores(const attention *work)
{
    const vkf__ref_attention_desc *desc = work->desc;
    size_t plane = (size_t)desc->q_len * desc->k_len;
    bool bottom_right = desc->mask.causal == VKF_CAUSAL_BOTTOM_RIGHT;
    vkf__ref_softmax(&(vkf__ref_softmax_desc){
        .batch = desc->batch,
        .heads = desc->num_heads,
        .q_len = desc->q_len,
        .k_len = work->keys,
        .mask_cols = desc->k_len,
        .x = work->weights,
        .out = work->weights,
        .scale = (float)(1 / sqrt((double)work->head_dim)),
        .mask_kind = desc->mask.kind,
        .mask = desc->mask_values,
        .mask_batch = desc->mask.per_head ? plane * desc->num_heads : 0,
        .mask_head = desc->mask.per_head ? plane : 0,
        .mask_row = desc->k_len,
        .key_mask_kind = desc->mask.key_kind,
        .key_mask = desc->key_mask_values,
        .causal = desc->mask.causal != VKF_CAUSAL_NONE,
        .causal_offset = bottom_right ? (int32_t)((int64_t)desc->k_len - desc->q_len) : 0,
        .window = desc->mask.window,
        .fully_masked = desc->fully_masked,
    });
}

static void weigh_values(const attention *work)
{
    const vkf__ref_attention_desc *desc = work->desc;
    vkf__ref_gemm(&(vkf__ref_gemm_desc){
        .m = desc->q_len,
        .n = work->v_head_dim,
        .k = work->keys,
        .batch = desc->batch * desc->num_heads,
        .batch_inner = desc->num_heads,
        .a = work->weights,
        .b = work->value,
        .out = work->heads,
        .b_layout = heads_layout(work, work->keys, work->v_head_dim),
        .out_layout = heads_layout(work, desc->q_len, work->v_head_dim),
        .alpha = 1,
    });
}

static void give_weights(const attention *work)
{
    const vkf__ref_attention_desc *desc = work->desc;
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

vkf_status vkf__ref_attention(const vkf__host *host, const vkf__ref_attention_desc *desc)
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
    append_bias(&work, desc->bias_k, work.key, width);
    append_bias(&work, desc->bias_v, work.value, v_width);
    score_heads(&work);
    normalise_scores(&work);
    weigh_values(&work);
    give_weights(&work);
    project(&work, work.heads, desc->q_len, v_width, desc->out_weight, desc->out_bias, desc->out, desc->q_len,
            desc->embed_dim);
fail:
    attention_finish(&work, host);
    return status;
}

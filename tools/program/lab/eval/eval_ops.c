// Oracle kinds that are operators: gemm, softmax, layernorm, permute, additive_attention.
#include <string.h>

#include "lab/eval/eval_kinds.h"

static vkf_status gemm_tensors(vkf_eval_case *c, vkf_gemm_desc *gemm)
{
    uint32_t m = 0, n = 0, k = 0, batch = 0;
    bool shared = false, has_c = false, has_bias = false;
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "m", &m));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "n", &n));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "k", &k));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "batch", &batch));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "b_shared", &shared));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "has_c", &has_c));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "has_bias", &has_bias));
    uint32_t b_rows = gemm->transpose_b ? n : k, b_columns = gemm->transpose_b ? k : n;
    VKF_RETURN_IF_ERROR(
        vkf__eval_input(c, "A", gemm->transpose_a ? VKF_DIMS(batch, k, m) : VKF_DIMS(batch, m, k), &gemm->a));
    vkf_eval_dims b_dims = shared ? VKF_DIMS(b_rows, b_columns) : VKF_DIMS(batch, b_rows, b_columns);
    VKF_RETURN_IF_ERROR(vkf__eval_input_parameter(c, "B", b_dims, &gemm->b));
    if (has_c)
        VKF_RETURN_IF_ERROR(vkf__eval_input(c, "C", VKF_DIMS(batch, m, n), &gemm->c));
    if (has_bias)
        VKF_RETURN_IF_ERROR(vkf__eval_input_parameter(c, "bias", VKF_DIMS(n), &gemm->bias));
    return vkf__eval_tensor(c, c->settings.types.activations, VKF_DIMS(batch, m, n), "out", &gemm->out);
}

vkf_status vkf__eval_gemm(vkf_eval_case *c)
{
    vkf_gemm_desc gemm = {0};
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "trans_a", &gemm.transpose_a));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "trans_b", &gemm.transpose_b));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(c, "alpha", &gemm.alpha));
    gemm.alpha = gemm.alpha != 0 ? gemm.alpha : VKF_ZERO;
    VKF_RETURN_IF_ERROR(vkf__eval_f32(c, "beta", &gemm.beta));
    VKF_RETURN_IF_ERROR(gemm_tensors(c, &gemm));
    VKF_RETURN_IF_ERROR(vkf_gemm(c->settings.context, &gemm));
    return vkf__eval_output_tensor(c, "out", &gemm.out);
}

// Uploads a mask as it is in the file: BOOL (true = masked) or F32 (added).
static vkf_status upload_mask(vkf_eval_case *c, const vkf__stored_tensor *stored, vkf_eval_dims dims,
                              vkf_mask_kind *out_kind, vkf_tensor *out_mask)
{
    void *bytes = NULL;
    if (stored->type != VKF_STORED_BOOL && stored->type != VKF_STORED_F32)
        return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "mask \"%s\" is neither BOOL nor F32", stored->name);
    bool additive = stored->type == VKF_STORED_F32;
    VKF_RETURN_IF_ERROR(vkf__eval_host_bytes(c, stored, &bytes));
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(c, additive ? VKF_DTYPE_F32 : VKF_DTYPE_BOOL, dims, stored->name, out_mask));
    VKF_RETURN_IF_ERROR(vkf_tensor_write(out_mask, bytes, stored->size_bytes));
    *out_kind = additive ? VKF_MASK_ADDITIVE : VKF_MASK_BOOL_EXCLUDE;
    return VKF_OK;
}

vkf_status vkf__eval_softmax(vkf_eval_case *c)
{
    uint32_t rows = 0, columns = 0;
    vkf_softmax_desc softmax = {.fully_masked = c->settings.fully_masked};
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "rows", &rows));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "cols", &columns));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(c, "scale", &softmax.scale));
    vkf_eval_dims dims = VKF_DIMS(rows, columns);
    VKF_RETURN_IF_ERROR(vkf__eval_input(c, "x", dims, &softmax.x));
    if (vkf__eval_peek(c, "mask")) {
        const vkf__stored_tensor *mask = NULL;
        VKF_RETURN_IF_ERROR(vkf__eval_find(c, "mask", dims, &mask));
        VKF_RETURN_IF_ERROR(upload_mask(c, mask, dims, &softmax.mask_kind, &softmax.mask));
    }
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(c, c->settings.types.activations, dims, "out", &softmax.out));
    VKF_RETURN_IF_ERROR(vkf_softmax(c->settings.context, &softmax));
    return vkf__eval_output_tensor(c, "out", &softmax.out);
}

vkf_status vkf__eval_layernorm(vkf_eval_case *c)
{
    uint32_t rows = 0, dim = 0;
    bool affine = false;
    vkf_layer_norm_desc norm = {0};
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "rows", &rows));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "dim", &dim));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "affine", &affine));
    VKF_RETURN_IF_ERROR(vkf__eval_f32(c, "eps", &norm.eps));
    VKF_RETURN_IF_ERROR(vkf__eval_input(c, "x", VKF_DIMS(rows, dim), &norm.x));
    if (affine) {
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "", "weight", VKF_DIMS(dim), &norm.weight));
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "", "bias", VKF_DIMS(dim), &norm.bias));
    }
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(c, c->settings.types.activations, VKF_DIMS(rows, dim), "out", &norm.out));
    VKF_RETURN_IF_ERROR(vkf_layer_norm(c->settings.context, &norm));
    return vkf__eval_output_tensor(c, "out", &norm.out);
}

vkf_status vkf__eval_permute(vkf_eval_case *c)
{
    uint32_t b = 0, l = 0, h = 0, d = 0;
    const char *direction = NULL;
    vkf_tensor x = {0}, out = {0};
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "B", &b));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "L", &l));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "H", &h));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "D", &d));
    VKF_RETURN_IF_ERROR(vkf__json_string(c->settings.host, c->config_path, c->config, "direction", &direction));
    bool split = strcmp(direction, "split_heads") == 0;
    if (!split && strcmp(direction, "merge_heads") != 0)
        return vkf__fail(c->settings.host, VKF_ERROR_FORMAT,
                         "%s: direction \"%s\" is neither split_heads nor merge_heads", c->config_path, direction);
    vkf_eval_dims merged = VKF_DIMS(b, l, h, d), apart = VKF_DIMS(b, h, l, d);
    VKF_RETURN_IF_ERROR(vkf__eval_input(c, "x", split ? merged : apart, &x));
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(c, c->settings.types.activations, split ? apart : merged, "out", &out));
    VKF_RETURN_IF_ERROR(split ? vkf_split_heads(c->settings.context, &x, &out)
                              : vkf_merge_heads(c->settings.context, &x, &out));
    return vkf__eval_output_tensor(c, "out", &out);
}

typedef struct additive_sizes {
    uint32_t batch, target_len, source_len, query_dim, key_dim, attn_dim;
    bool bias, mask;
} additive_sizes;

static vkf_status read_additive_sizes(const vkf_eval_case *c, additive_sizes *out_sizes)
{
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "batch", &out_sizes->batch));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "tgt_len", &out_sizes->target_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "src_len", &out_sizes->source_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "d_s", &out_sizes->query_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "d_h", &out_sizes->key_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "attn_dim", &out_sizes->attn_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "bias", &out_sizes->bias));
    return vkf__eval_bool(c, "mask", &out_sizes->mask);
}

// Computes out = x W^T + b, with W and b called prefix + "weight" and prefix + "bias".
static vkf_status project(vkf_eval_case *c, const char *prefix, bool bias, const vkf_tensor *x, uint32_t out_dim,
                          vkf_tensor *out)
{
    vkf_gemm_desc gemm = {.a = *x, .transpose_b = true, .alpha = 1.0f};
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "weight", VKF_DIMS(out_dim, x->shape[2]), &gemm.b));
    if (bias)
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "bias", VKF_DIMS(out_dim), &gemm.bias));
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(c, c->settings.types.activations, VKF_DIMS(x->shape[0], x->shape[1], out_dim),
                                         prefix, &gemm.out));
    VKF_RETURN_IF_ERROR(vkf_gemm(c->settings.context, &gemm));
    *out = gemm.out;
    return VKF_OK;
}

// Scores and weights are (B, T, S). The softmax takes them as (B, 1, T, S), so that the key mask (B, S) fits.
static vkf_status additive_weights(vkf_eval_case *c, const additive_sizes *sizes, const vkf_tensor *scores,
                                   vkf_tensor *out_weights)
{
    uint32_t b = sizes->batch, t = sizes->target_len, s = sizes->source_len;
    vkf_softmax_desc softmax = {.fully_masked = c->settings.fully_masked};
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(c, c->settings.types.activations, VKF_DIMS(b, t, s), "weights", out_weights));
    softmax.x = *scores;
    softmax.out = *out_weights;
    softmax.x.rank = softmax.out.rank = 4;
    vkf_eval_dims dims = VKF_DIMS(b, 1, t, s);
    memcpy(softmax.x.shape, dims.shape, sizeof dims.shape);
    memcpy(softmax.out.shape, dims.shape, sizeof dims.shape);
    if (sizes->mask) {
        const vkf__stored_tensor *mask = NULL;
        VKF_RETURN_IF_ERROR(vkf__eval_find(c, "mask", VKF_DIMS(b, s), &mask));
        VKF_RETURN_IF_ERROR(upload_mask(c, mask, VKF_DIMS(b, s), &softmax.key_mask_kind, &softmax.key_mask));
    }
    return vkf_softmax(c->settings.context, &softmax);
}

static vkf_status additive_scores(vkf_eval_case *c, const additive_sizes *sizes, const vkf_tensor *query,
                                  const vkf_tensor *key, vkf_tensor *out_scores)
{
    uint32_t a = sizes->attn_dim;
    vkf_additive_scores_desc scores = {0};
    VKF_RETURN_IF_ERROR(project(c, "W_s.", sizes->bias, query, a, &scores.query));
    VKF_RETURN_IF_ERROR(project(c, "W_h.", sizes->bias, key, a, &scores.key));
    VKF_RETURN_IF_ERROR(vkf__eval_weight_like_inputs(c, "v.", "weight", VKF_DIMS(1, a), &scores.v));
    scores.v.rank = 1;
    scores.v.shape[0] = a;
    scores.v.shape[1] = 0;
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(c, c->settings.types.activations,
                                         VKF_DIMS(sizes->batch, sizes->target_len, sizes->source_len), "scores",
                                         &scores.out));
    VKF_RETURN_IF_ERROR(vkf_additive_scores(c->settings.context, &scores));
    *out_scores = scores.out;
    return VKF_OK;
}

vkf_status vkf__eval_additive_attention(vkf_eval_case *c)
{
    additive_sizes sizes = {0};
    VKF_RETURN_IF_ERROR(read_additive_sizes(c, &sizes));
    uint32_t b = sizes.batch, t = sizes.target_len;
    vkf_tensor query = {0}, key = {0}, scores = {0};
    vkf_gemm_desc context = {.alpha = 1.0f};
    VKF_RETURN_IF_ERROR(vkf__eval_input(c, "s", VKF_DIMS(b, t, sizes.query_dim), &query));
    VKF_RETURN_IF_ERROR(vkf__eval_input(c, "h", VKF_DIMS(b, sizes.source_len, sizes.key_dim), &key));
    VKF_RETURN_IF_ERROR(additive_scores(c, &sizes, &query, &key, &scores));
    VKF_RETURN_IF_ERROR(additive_weights(c, &sizes, &scores, &context.a));
    context.b = key;
    VKF_RETURN_IF_ERROR(
        vkf__eval_tensor(c, c->settings.types.activations, VKF_DIMS(b, t, sizes.key_dim), "context", &context.out));
    VKF_RETURN_IF_ERROR(vkf_gemm(c->settings.context, &context));
    VKF_RETURN_IF_ERROR(vkf__eval_output_tensor(c, "scores", &scores));
    VKF_RETURN_IF_ERROR(vkf__eval_output_tensor(c, "weights", &context.a));
    return vkf__eval_output_tensor(c, "context", &context.out);
}

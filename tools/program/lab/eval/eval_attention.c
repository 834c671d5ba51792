// Oracle kinds that are one attention block: mha, seed2, seed3.
#include <string.h>

#include "lab/eval/eval_kinds.h"

// ---- layers

static vkf_status create_layer(vkf_eval_case *c, const vkf_attention_desc *desc)
{
    vkf_layer_destroy(&c->layer);
    return vkf_attention_create(c->settings.context, desc, &c->layer);
}

// True when a second run is needed. Asking for the attention weights selects the unfused path, which models never take.
// So the first run gives the weights, and a second one, which does not ask for them, gives the output. With --unfused
// the first run gives both.
static bool leave_out_weights(const vkf_eval_case *c, vkf_attention_desc *desc)
{
    if (!c->settings.unfused)
        desc->weights = desc->weights_per_head = false;
    return !c->settings.unfused;
}

// ---- masks and weights of torch.nn.MultiheadAttention

static vkf_status torch_mask_kind(const vkf_eval_case *c, const vkf__stored_tensor *stored, vkf_mask_kind *out_kind)
{
    if (stored->type != VKF_STORED_BOOL && stored->type != VKF_STORED_F32)
        return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "mask \"%s\" is neither BOOL nor F32", stored->name);
    *out_kind = stored->type == VKF_STORED_BOOL ? VKF_MASK_BOOL_EXCLUDE : VKF_MASK_ADDITIVE;
    return VKF_OK;
}

vkf_status vkf__eval_masks(const vkf_eval_case *c, const char *mask, const char *key_mask,
                           const vkf_eval_attention_sizes *sizes, vkf_eval_masks *out_masks)
{
    vkf_eval_masks masks = {0};
    const vkf__stored_tensor *stored = vkf__eval_peek(c, mask);
    if (stored) {
        masks.desc.per_head = stored->rank == 3;
        VKF_RETURN_IF_ERROR(vkf__eval_find(
            c, mask,
            masks.desc.per_head ? VKF_DIMS(sizes->batch * sizes->num_heads, sizes->query_len, sizes->key_len)
                                : VKF_DIMS(sizes->query_len, sizes->key_len),
            &masks.mask));
        VKF_RETURN_IF_ERROR(torch_mask_kind(c, stored, &masks.desc.kind));
    }
    if (vkf__eval_peek(c, key_mask)) {
        VKF_RETURN_IF_ERROR(vkf__eval_find(c, key_mask, VKF_DIMS(sizes->batch, sizes->key_len), &masks.key_mask));
        VKF_RETURN_IF_ERROR(torch_mask_kind(c, masks.key_mask, &masks.desc.key_kind));
    }
    *out_masks = masks;
    return VKF_OK;
}

vkf_status vkf__eval_write_masks(vkf_eval_case *c, const vkf_eval_masks *masks, vkf_port mask_port,
                                 vkf_port key_mask_port)
{
    void *bytes = NULL;
    if (masks->mask) {
        VKF_RETURN_IF_ERROR(vkf__eval_host_bytes(c, masks->mask, &bytes));
        VKF_RETURN_IF_ERROR(vkf_layer_write(c->layer, mask_port, bytes, masks->mask->size_bytes));
    }
    if (masks->key_mask) {
        VKF_RETURN_IF_ERROR(vkf__eval_host_bytes(c, masks->key_mask, &bytes));
        VKF_RETURN_IF_ERROR(vkf_layer_write(c->layer, key_mask_port, bytes, masks->key_mask->size_bytes));
    }
    return VKF_OK;
}

static vkf_status in_projections(vkf_eval_case *c, const char *prefix, const vkf_eval_attention_shape *shape,
                                 vkf_attention_weights *weights)
{
    uint32_t e = shape->embed_dim;
    if (shape->kdim == e && shape->vdim == e) {
        vkf_tensor parts[3] = {{0}};
        VKF_RETURN_IF_ERROR(vkf__eval_packed_weight(c, prefix, "in_proj_weight", 3, VKF_DIMS(e, e), parts));
        weights->q_weight = parts[0];
        weights->k_weight = parts[1];
        weights->v_weight = parts[2];
        weights->in_proj = parts[0].buffer == parts[2].buffer;
    } else {
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "q_proj_weight", VKF_DIMS(e, e), &weights->q_weight));
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "k_proj_weight", VKF_DIMS(e, shape->kdim), &weights->k_weight));
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "v_proj_weight", VKF_DIMS(e, shape->vdim), &weights->v_weight));
    }
    if (shape->bias) {
        vkf_tensor parts[3] = {{0}};
        VKF_RETURN_IF_ERROR(vkf__eval_packed_weight(c, prefix, "in_proj_bias", 3, VKF_DIMS(e), parts));
        weights->q_bias = parts[0];
        weights->k_bias = parts[1];
        weights->v_bias = parts[2];
    }
    return VKF_OK;
}

vkf_status vkf__eval_attention_weights(vkf_eval_case *c, const char *prefix, const vkf_eval_attention_shape *shape,
                                       vkf_attention_weights *out_weights)
{
    uint32_t e = shape->embed_dim;
    vkf_attention_weights weights = {0};
    VKF_RETURN_IF_ERROR(in_projections(c, prefix, shape, &weights));
    if (shape->bias_kv) {
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "bias_k", VKF_DIMS(1, 1, e), &weights.bias_k));
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "bias_v", VKF_DIMS(1, 1, e), &weights.bias_v));
    }
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "out_proj.weight", VKF_DIMS(e, e), &weights.out_weight));
    if (shape->bias)
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, prefix, "out_proj.bias", VKF_DIMS(e), &weights.out_bias));
    *out_weights = weights;
    return VKF_OK;
}

// ---- mha

static vkf_status read_mha_config(const vkf_eval_case *c, vkf_attention_desc *desc, vkf_eval_attention_shape *shape)
{
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "embed_dim", &desc->embed_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "num_heads", &desc->num_heads));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "kdim", &desc->kdim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "vdim", &desc->vdim));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "self_attention", &desc->self_attention));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "add_zero_attn", &desc->add_zero_attn));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "batch", &desc->max_sizes.batch));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "tgt_len", &desc->max_sizes.query_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "src_len", &desc->max_sizes.key_len));
    *shape = (vkf_eval_attention_shape){.embed_dim = desc->embed_dim, .kdim = desc->kdim, .vdim = desc->vdim};
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "bias", &shape->bias));
    return vkf__eval_bool(c, "add_bias_kv", &shape->bias_kv);
}

static vkf_status run_mha(vkf_eval_case *c, const vkf_attention_desc *desc, const vkf_eval_masks *masks)
{
    uint32_t b = desc->max_sizes.batch, l = desc->max_sizes.query_len, s = desc->max_sizes.key_len;
    VKF_RETURN_IF_ERROR(create_layer(c, desc));
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_QUERY, "query", VKF_DIMS(b, l, desc->embed_dim)));
    if (!desc->self_attention) {
        VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_KEY, "key", VKF_DIMS(b, s, desc->kdim)));
        VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_VALUE, "value", VKF_DIMS(b, s, desc->vdim)));
    }
    VKF_RETURN_IF_ERROR(vkf__eval_write_masks(c, masks, VKF_PORT_MASK, VKF_PORT_KEY_MASK));
    return vkf_layer_run(c->layer, &desc->max_sizes);
}

static vkf_status read_mha_weights(vkf_eval_case *c, const vkf_attention_desc *desc)
{
    uint32_t b = desc->max_sizes.batch, l = desc->max_sizes.query_len;
    uint32_t columns = desc->max_sizes.key_len + (desc->params.bias_k.buffer != NULL) + desc->add_zero_attn; // S'
    VKF_RETURN_IF_ERROR(vkf__eval_read_port(c, VKF_PORT_WEIGHTS, "attn_weights", VKF_DIMS(b, l, columns)));
    return vkf__eval_read_port(c, VKF_PORT_WEIGHTS_PER_HEAD, "attn_weights_per_head",
                               VKF_DIMS(b, desc->num_heads, l, columns));
}

vkf_status vkf__eval_mha(vkf_eval_case *c)
{
    vkf_eval_attention_shape shape = {0};
    vkf_eval_masks masks = {0};
    vkf_attention_desc desc = {
        .weights = true,
        .weights_per_head = true,
        .fully_masked = c->settings.fully_masked,
        .dtype = c->settings.types.activations,
    };
    VKF_RETURN_IF_ERROR(read_mha_config(c, &desc, &shape));
    vkf_eval_attention_sizes sizes = {desc.max_sizes.batch, desc.num_heads, desc.max_sizes.query_len,
                                      desc.max_sizes.key_len};
    VKF_RETURN_IF_ERROR(vkf__eval_masks(c, "attn_mask", "key_padding_mask", &sizes, &masks));
    desc.mask = masks.desc;
    VKF_RETURN_IF_ERROR(vkf__eval_attention_weights(c, "", &shape, &desc.params));
    VKF_RETURN_IF_ERROR(run_mha(c, &desc, &masks));
    VKF_RETURN_IF_ERROR(read_mha_weights(c, &desc));
    if (leave_out_weights(c, &desc))
        VKF_RETURN_IF_ERROR(run_mha(c, &desc, &masks));
    return vkf__eval_read_port(c, VKF_PORT_OUTPUT, "output",
                               VKF_DIMS(desc.max_sizes.batch, desc.max_sizes.query_len, desc.embed_dim));
}

// ---- seed2

// A mask in the layer's form: bytes for one of its two ports.
typedef struct byte_mask {
    vkf_port port;
    void *bytes;
    uint64_t size_bytes;
} byte_mask;

// Expands a mask that broadcasts to the shape `to`: for each element, whether it is attended (not 0).
static void expand_mask(const float *values, const uint32_t from[4], const uint32_t to[4], uint8_t *out_bytes)
{
    for (uint32_t b = 0; b < to[0]; b++)
        for (uint32_t h = 0; h < to[1]; h++)
            for (uint32_t l = 0; l < to[2]; l++)
                for (uint32_t s = 0; s < to[3]; s++) {
                    size_t row = ((size_t)(b % from[0]) * from[1] + h % from[1]) * from[2] + l % from[2];
                    *out_bytes++ = values[row * from[3] + s % from[3]] != 0.0f;
                }
}

// The mask's shape with leading ones; it must broadcast to (B, H, L, S).
static vkf_status broadcast_shape(const vkf_eval_case *c, const vkf__stored_tensor *stored, const uint32_t full[4],
                                  uint32_t out_shape[4])
{
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t missing = stored->rank <= 4 ? 4 - stored->rank : 0;
        uint64_t dim = i < missing ? 1 : stored->shape[i - missing];
        if (stored->rank > 4 || (dim != 1 && dim != full[i]))
            return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "tensor \"%s\" does not broadcast to (%u, %u, %u, %u)",
                             stored->name, full[0], full[1], full[2], full[3]);
        out_shape[i] = (uint32_t)dim;
    }
    return VKF_OK;
}

// Chooses the smallest of the layer's masks that can hold the input "mask": per key, shared by batch and heads, or per
// head.
static vkf_status seed2_mask(vkf_eval_case *c, const uint32_t full[4], vkf_attention_mask *desc, byte_mask *out_mask)
{
    const vkf__stored_tensor *stored = vkf__eval_peek(c, "mask");
    if (!stored)
        return VKF_OK;
    uint32_t from[4] = {0}, to[4] = {full[0], full[1], full[2], full[3]};
    void *values = NULL;
    byte_mask mask = {.port = VKF_PORT_MASK};
    VKF_RETURN_IF_ERROR(broadcast_shape(c, stored, full, from));
    if (from[1] == 1 && from[2] == 1) {
        to[1] = to[2] = 1;
        mask.port = VKF_PORT_KEY_MASK;
        desc->key_kind = VKF_MASK_BOOL_ATTEND;
    } else {
        desc->kind = VKF_MASK_BOOL_ATTEND;
        desc->per_head = from[0] != 1 || from[1] != 1;
        if (!desc->per_head)
            to[0] = to[1] = 1;
    }
    mask.size_bytes = vkf__eval_count(VKF_DIMS(to[0], to[1], to[2], to[3]));
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(c, stored->count, sizeof(float), &values));
    VKF_RETURN_IF_ERROR(vkf__eval_alloc(c, mask.size_bytes, 1, &mask.bytes));
    if (!vkf__stored_is_float(stored->type))
        return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "tensor \"%s\" is not of a floating-point type",
                         stored->name);
    VKF_RETURN_IF_ERROR(vkf__stored_convert(c->settings.host, stored, 0, stored->count, VKF_DTYPE_F32, values));
    expand_mask(values, from, to, mask.bytes);
    *out_mask = mask;
    return VKF_OK;
}

static vkf_status seed2_weights(vkf_eval_case *c, uint32_t e, vkf_attention_weights *weights)
{
    const struct {
        const char *prefix;
        vkf_tensor *weight, *bias;
    } linears[] = {
        {"w_q.", &weights->q_weight, &weights->q_bias},
        {"w_k.", &weights->k_weight, &weights->k_bias},
        {"w_v.", &weights->v_weight, &weights->v_bias},
        {"fc.", &weights->out_weight, &weights->out_bias},
    };
    for (size_t i = 0; i < sizeof linears / sizeof linears[0]; i++) {
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, linears[i].prefix, "weight", VKF_DIMS(e, e), linears[i].weight));
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, linears[i].prefix, "bias", VKF_DIMS(e), linears[i].bias));
    }
    return VKF_OK;
}

static vkf_status run_seed2(vkf_eval_case *c, const vkf_attention_desc *desc, const byte_mask *mask)
{
    uint32_t b = desc->max_sizes.batch, l = desc->max_sizes.query_len, s = desc->max_sizes.key_len;
    VKF_RETURN_IF_ERROR(create_layer(c, desc));
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_QUERY, "query", VKF_DIMS(b, l, desc->embed_dim)));
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_KEY, "key", VKF_DIMS(b, s, desc->embed_dim)));
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_VALUE, "value", VKF_DIMS(b, s, desc->embed_dim)));
    if (mask->bytes)
        VKF_RETURN_IF_ERROR(vkf_layer_write(c->layer, mask->port, mask->bytes, mask->size_bytes));
    return vkf_layer_run(c->layer, &desc->max_sizes);
}

// Masked scores are filled with a finite -1e10, so that a fully masked row attends to all keys alike, whatever
// --fully-masked says.
vkf_status vkf__eval_seed2(vkf_eval_case *c)
{
    byte_mask mask = {0};
    vkf_attention_desc desc = {
        .weights_per_head = true,
        .fully_masked = VKF_FULLY_MASKED_UNIFORM,
        .dtype = c->settings.types.activations,
    };
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "hid_dim", &desc.embed_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "n_heads", &desc.num_heads));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "batch", &desc.max_sizes.batch));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "query_len", &desc.max_sizes.query_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "key_len", &desc.max_sizes.key_len));
    const uint32_t full[4] = {desc.max_sizes.batch, desc.num_heads, desc.max_sizes.query_len, desc.max_sizes.key_len};
    VKF_RETURN_IF_ERROR(seed2_mask(c, full, &desc.mask, &mask));
    VKF_RETURN_IF_ERROR(seed2_weights(c, desc.embed_dim, &desc.params));
    VKF_RETURN_IF_ERROR(run_seed2(c, &desc, &mask));
    VKF_RETURN_IF_ERROR(
        vkf__eval_read_port(c, VKF_PORT_WEIGHTS_PER_HEAD, "attention", VKF_DIMS(full[0], full[1], full[2], full[3])));
    if (leave_out_weights(c, &desc))
        VKF_RETURN_IF_ERROR(run_seed2(c, &desc, &mask));
    return vkf__eval_read_port(c, VKF_PORT_OUTPUT, "output", VKF_DIMS(full[0], full[2], desc.embed_dim));
}

// ---- seed3

// attn_mask (B, L, S), where true means masked, is repeated for every head. Keys whose id in seq_k (B, S) is pad_id are
// masked, too.
static vkf_status seed3_masks(vkf_eval_case *c, const vkf_attention_desc *desc, vkf_attention_mask *out_desc,
                              byte_mask out_masks[2])
{
    uint32_t b = desc->max_sizes.batch, h = desc->num_heads, l = desc->max_sizes.query_len;
    uint32_t s = desc->max_sizes.key_len;
    size_t plane = (size_t)l * s;
    if (vkf__eval_peek(c, "attn_mask")) {
        const vkf__stored_tensor *stored = NULL;
        void *bytes = NULL;
        byte_mask *mask = &out_masks[0];
        VKF_RETURN_IF_ERROR(vkf__eval_find(c, "attn_mask", VKF_DIMS(b, l, s), &stored));
        if (stored->type != VKF_STORED_BOOL)
            return vkf__fail(c->settings.host, VKF_ERROR_FORMAT, "tensor \"attn_mask\" is not BOOL");
        *mask = (byte_mask){.port = VKF_PORT_MASK, .size_bytes = vkf__eval_count(VKF_DIMS(b, h, l, s))};
        VKF_RETURN_IF_ERROR(vkf__eval_host_bytes(c, stored, &bytes));
        VKF_RETURN_IF_ERROR(vkf__eval_alloc(c, mask->size_bytes, 1, &mask->bytes));
        for (size_t row = 0; row < (size_t)b * h; row++)
            memcpy((uint8_t *)mask->bytes + row * plane, (const uint8_t *)bytes + row / h * plane, plane);
        out_desc->kind = VKF_MASK_BOOL_EXCLUDE;
        out_desc->per_head = true;
    }
    if (vkf__eval_peek(c, "seq_k")) {
        int32_t *ids = NULL, pad_id = 0;
        byte_mask *mask = &out_masks[1];
        VKF_RETURN_IF_ERROR(vkf__eval_id(c, "pad_id", &pad_id));
        VKF_RETURN_IF_ERROR(vkf__eval_host_i32(c, "seq_k", VKF_DIMS(b, s), &ids));
        *mask = (byte_mask){.port = VKF_PORT_KEY_MASK, .size_bytes = (uint64_t)b * s};
        VKF_RETURN_IF_ERROR(vkf__eval_alloc(c, mask->size_bytes, 1, &mask->bytes));
        for (size_t i = 0; i < (size_t)b * s; i++)
            ((uint8_t *)mask->bytes)[i] = ids[i] == pad_id;
        out_desc->key_kind = VKF_MASK_BOOL_EXCLUDE;
    }
    return VKF_OK;
}

// output = LayerNorm(fc(attention) + input_Q)
static vkf_status seed3_norm(vkf_eval_case *c, const vkf_attention_desc *desc)
{
    uint32_t e = desc->embed_dim;
    bool affine = false;
    vkf_layer_norm_desc norm = {.residual_order = VKF_RESIDUAL_BEFORE};
    VKF_RETURN_IF_ERROR(vkf__eval_f32(c, "layer_norm_eps", &norm.eps));
    VKF_RETURN_IF_ERROR(vkf__eval_bool(c, "ln_affine", &affine));
    if (affine) {
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "layer_norm.", "weight", VKF_DIMS(e), &norm.weight));
        VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "layer_norm.", "bias", VKF_DIMS(e), &norm.bias));
    }
    if (!vkf_layer_get_port(c->layer, VKF_PORT_OUTPUT, &norm.x) ||
        !vkf_layer_get_port(c->layer, VKF_PORT_QUERY, &norm.residual))
        return vkf__fail(c->settings.host, VKF_ERROR_INVALID_ARGUMENT,
                         "the attention layer has no output or query port");
    VKF_RETURN_IF_ERROR(vkf__eval_tensor(c, desc->dtype, VKF_DIMS(desc->max_sizes.batch, desc->max_sizes.query_len, e),
                                         "output", &norm.out));
    VKF_RETURN_IF_ERROR(vkf_layer_norm(c->settings.context, &norm));
    return vkf__eval_output_tensor(c, "output", &norm.out);
}

static vkf_status read_seed3(vkf_eval_case *c, vkf_attention_desc *desc)
{
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "embed_dim", &desc->embed_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "n_heads", &desc->num_heads));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "d_k", &desc->head_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "d_v", &desc->v_head_dim));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "batch", &desc->max_sizes.batch));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "query_len", &desc->max_sizes.query_len));
    VKF_RETURN_IF_ERROR(vkf__eval_size(c, "key_len", &desc->max_sizes.key_len));
    uint32_t e = desc->embed_dim, qk = desc->num_heads * desc->head_dim, v = desc->num_heads * desc->v_head_dim;
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "W_Q.", "weight", VKF_DIMS(qk, e), &desc->params.q_weight));
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "W_K.", "weight", VKF_DIMS(qk, e), &desc->params.k_weight));
    VKF_RETURN_IF_ERROR(vkf__eval_weight(c, "W_V.", "weight", VKF_DIMS(v, e), &desc->params.v_weight));
    return vkf__eval_weight(c, "fc.", "weight", VKF_DIMS(e, v), &desc->params.out_weight);
}

static vkf_status run_seed3(vkf_eval_case *c, const vkf_attention_desc *desc, const byte_mask masks[2])
{
    uint32_t b = desc->max_sizes.batch, l = desc->max_sizes.query_len, s = desc->max_sizes.key_len;
    VKF_RETURN_IF_ERROR(create_layer(c, desc));
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_QUERY, "input_Q", VKF_DIMS(b, l, desc->embed_dim)));
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_KEY, "input_K", VKF_DIMS(b, s, desc->embed_dim)));
    VKF_RETURN_IF_ERROR(vkf__eval_write_port(c, VKF_PORT_VALUE, "input_V", VKF_DIMS(b, s, desc->embed_dim)));
    for (size_t i = 0; i < 2; i++)
        if (masks[i].bytes)
            VKF_RETURN_IF_ERROR(vkf_layer_write(c->layer, masks[i].port, masks[i].bytes, masks[i].size_bytes));
    return vkf_layer_run(c->layer, &desc->max_sizes);
}

// As in seed2, masked scores are filled with a finite number (-1e9).
vkf_status vkf__eval_seed3(vkf_eval_case *c)
{
    byte_mask masks[2] = {{0}};
    vkf_attention_desc desc = {
        .weights_per_head = true,
        .fully_masked = VKF_FULLY_MASKED_UNIFORM,
        .dtype = c->settings.types.activations,
    };
    VKF_RETURN_IF_ERROR(read_seed3(c, &desc));
    VKF_RETURN_IF_ERROR(seed3_masks(c, &desc, &desc.mask, masks));
    VKF_RETURN_IF_ERROR(run_seed3(c, &desc, masks));
    VKF_RETURN_IF_ERROR(vkf__eval_read_port(
        c, VKF_PORT_WEIGHTS_PER_HEAD, "attn",
        VKF_DIMS(desc.max_sizes.batch, desc.num_heads, desc.max_sizes.query_len, desc.max_sizes.key_len)));
    if (leave_out_weights(c, &desc))
        VKF_RETURN_IF_ERROR(run_seed3(c, &desc, masks));
    return seed3_norm(c, &desc);
}

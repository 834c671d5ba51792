// Checks of sizes, masks, weights and ports that the constructors of layers share.
#include "api/layer_check.h"

#include <string.h>

#include "base/size.h"
#include "base/sized.h"
#include "op/softmax.h"
#include "shared/gemm.h"

static const char *const port_names[VKF_PORT_COUNT] = {
    "query", "key",      "value",       "memory",          "output", "weights", "weights_per_head",
    "mask",  "key_mask", "memory_mask", "memory_key_mask",
};

vkf_status vkf__check_sizes(const vkf__checker *check, const vkf_layer_sizes *sizes, bool keys)
{
    if (sizes->batch == 0 || sizes->query_len == 0 || (keys && sizes->key_len == 0))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: a maximum size is 0", check->function);
    const uint64_t q[] = {sizes->batch, sizes->query_len, keys ? sizes->key_len : sizes->query_len};
    uint64_t product = 0;
    if (!vkf__product_u64(q, 3, &product) || product > UINT32_MAX)
        return vkf__fail(check->host, VKF_ERROR_TOO_LARGE, "%s: batch * query_len * key_len exceeds 2^32",
                         check->function);
    return VKF_OK;
}

vkf_status vkf__check_mask_desc(const vkf__checker *check, const vkf_attention_mask *mask, const char *name)
{
    VKF_RETURN_IF_ERROR(VKF_CHECK_RESERVED(check, "vkf_attention_mask", mask));
    VKF_RETURN_IF_ERROR(vkf__check_soft_cap(check, mask->soft_cap));
    VKF_RETURN_IF_ERROR(vkf__check_causal(check, mask->causal, mask->key_kind));
    bool kinds = mask->kind < VKF_MASK_LENGTHS && mask->key_kind < VKF_MASK_KIND_COUNT;
    if (kinds && mask->causal < VKF_CAUSAL_COUNT)
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                     "%s: %s: an unknown mask kind or causal, or lengths for a mask over queries", check->function,
                     name);
}

static bool in_whole_panels(const vkf_tensor *weight)
{
    return weight->layout != VKF_LAYOUT_PANELS || weight->shape[0] % VKF_GEMM_PANEL == 0;
}

static bool are_views_of_one(const vkf_tensor *q, const vkf_tensor *k, const vkf_tensor *v)
{
    const vkf__span spans[] = {vkf__span_of(q), vkf__span_of(k), vkf__span_of(v)};
    return vkf__spans_join(&spans[0], &spans[1], &spans[2]);
}

static vkf_status check_in_proj(const vkf__checker *check, const vkf_attention_weights *w, const vkf__attention_dims *d)
{
    const bool bias = w->q_bias.rank > 0;
    const bool same_kind = bias == (w->k_bias.rank > 0) && bias == (w->v_bias.rank > 0) &&
                           w->q_weight.layout == w->k_weight.layout && w->k_weight.layout == w->v_weight.layout;
    const bool one_width = d->kdim == d->embed_dim && d->vdim == d->embed_dim;
    const bool panels = in_whole_panels(&w->q_weight) && in_whole_panels(&w->k_weight);
    const bool no_buffers = check->buffers_optional && !w->q_weight.buffer;
    const bool placed = no_buffers || (are_views_of_one(&w->q_weight, &w->k_weight, &w->v_weight) &&
                                       (!bias || are_views_of_one(&w->q_bias, &w->k_bias, &w->v_bias)));
    if (!w->in_proj || (same_kind && one_width && panels && placed))
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                     "%s: in_proj, but the weights of q, k and v, or their biases, do not lie one behind the other in "
                     "one tensor; leave in_proj out, or place them so",
                     check->function);
}

vkf_status vkf__check_attention_weights(const vkf__checker *check, const vkf_attention_weights *w,
                                        const vkf__attention_dims *d, vkf_dtype dtype)
{
    VKF_RETURN_IF_ERROR(VKF_CHECK_RESERVED(check, "vkf_attention_weights", w));
    uint32_t k_width = d->heads * d->head_dim, v_width = d->heads * d->v_head_dim;
    const uint32_t bias_k_shape[] = {1, 1, k_width}, bias_v_shape[] = {1, 1, v_width};
    VKF_RETURN_IF_ERROR(vkf__check_weight(check, &w->q_weight, "q_weight", dtype, k_width, d->embed_dim));
    VKF_RETURN_IF_ERROR(vkf__check_weight(check, &w->k_weight, "k_weight", dtype, k_width, d->kdim));
    VKF_RETURN_IF_ERROR(vkf__check_weight(check, &w->v_weight, "v_weight", dtype, v_width, d->vdim));
    VKF_RETURN_IF_ERROR(vkf__check_weight(check, &w->out_weight, "out_weight", dtype, d->embed_dim, v_width));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &w->q_bias, "q_bias", dtype, 1, &k_width));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &w->k_bias, "k_bias", dtype, 1, &k_width));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &w->v_bias, "v_bias", dtype, 1, &v_width));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &w->out_bias, "out_bias", dtype, 1, &d->embed_dim));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &w->bias_k, "bias_k", dtype, 3, bias_k_shape));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &w->bias_v, "bias_v", dtype, 3, bias_v_shape));
    if ((w->bias_k.rank > 0) != (w->bias_v.rank > 0))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: bias_k and bias_v come together",
                         check->function);
    VKF_RETURN_IF_ERROR(vkf__check_head_values(check, &w->slopes, "slopes", d->heads));
    VKF_RETURN_IF_ERROR(vkf__check_head_values(check, &w->sinks, "sinks", d->heads));
    return check_in_proj(check, w, d);
}

vkf_status vkf__check_rotary(const vkf__checker *check, const vkf_attention_weights *w, const vkf__attention_dims *d,
                             uint32_t queries, bool takes)
{
    if (w->rotary.rank == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__check_shape(check, &w->rotary, "rotary", VKF_DTYPE_F32, 2, w->rotary.shape));
    if (takes && w->rotary.shape[0] >= queries && w->rotary.shape[1] % 2 == 0 && w->rotary.shape[1] <= d->head_dim)
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                     "%s: rotary must have at least %u positions and an even width of at most %u, and is for self "
                     "attention without bias_k and add_zero_attn",
                     check->function, queries, d->head_dim);
}

vkf_status vkf__check_feed_forward_weights(const vkf__checker *check, const vkf_feed_forward_weights *w,
                                           uint32_t d_model, uint32_t dim_feedforward, vkf_dtype dtype)
{
    VKF_RETURN_IF_ERROR(VKF_CHECK_RESERVED(check, "vkf_feed_forward_weights", w));
    VKF_RETURN_IF_ERROR(vkf__check_weight(check, &w->weight1, "weight1", dtype, dim_feedforward, d_model));
    VKF_RETURN_IF_ERROR(vkf__check_weight(check, &w->weight2, "weight2", dtype, d_model, dim_feedforward));
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &w->bias1, "bias1", dtype, 1, &dim_feedforward));
    return vkf__check_optional(check, &w->bias2, "bias2", dtype, 1, &d_model);
}

vkf_status vkf__check_norm_weights(const vkf__checker *check, const vkf_norm_weights *weights, uint32_t d_model,
                                   vkf_dtype dtype)
{
    VKF_RETURN_IF_ERROR(vkf__check_optional(check, &weights->weight, "norm weight", dtype, 1, &d_model));
    return vkf__check_optional(check, &weights->bias, "norm bias", dtype, 1, &d_model);
}

static bool written(vkf_port port)
{
    return port == VKF_PORT_OUTPUT || port == VKF_PORT_WEIGHTS || port == VKF_PORT_WEIGHTS_PER_HEAD;
}

vkf_status vkf__check_ports(const vkf__checker *check, const vkf_tensor *ports)
{
    for (uint32_t i = VKF_PORT_COUNT; i < VKF_MAX_PORTS; i++)
        if (ports[i].rank > 0)
            return vkf__fail(check->host, VKF_ERROR_UNSUPPORTED, "%s: this library knows no port %u", check->function,
                             i);
    return VKF_OK;
}

// A port that a layer writes must not overlap any other port of the caller, because some inputs are read after it is
// written.
static vkf_status check_ports_apart(const vkf__checker *check, const vkf__layer_desc *layer, vkf_port port,
                                    const vkf_tensor *external)
{
    for (uint32_t i = 0; i < VKF_PORT_COUNT; i++) {
        if (i != port && (written(port) || written((vkf_port)i)))
            VKF_RETURN_IF_ERROR(vkf__check_apart(check, external, &layer->ports[i].external, port_names[i]));
    }
    return VKF_OK;
}

vkf_status vkf__set_port(const vkf__checker *check, vkf__layer_desc *layer, vkf_port port, const vkf_tensor *external,
                         vkf_dtype dtype, uint32_t rank, const uint32_t *shape)
{
    uint64_t bytes = vkf_dtype_size(dtype);
    vkf__port_desc *desc = &layer->ports[port];
    for (uint32_t i = 0; i < rank; i++) {
        if (!vkf__mul_u64(bytes, shape[i], &bytes))
            return vkf__fail(check->host, VKF_ERROR_TOO_LARGE, "%s: port %s overflows", check->function,
                             port_names[port]);
    }
    if (external[port].rank > 0) {
        vkf_status status = vkf__check_shape(check, &external[port], port_names[port], dtype, rank, shape);
        if (status == VKF_OK)
            status = check_ports_apart(check, layer, port, &external[port]);
        if (status != VKF_OK)
            return status;
    }
    desc->dtype = dtype;
    desc->rank = rank;
    memcpy(desc->shape, shape, rank * sizeof shape[0]);
    desc->external = external[port];
    return VKF_OK;
}

vkf_status vkf__set_mask_ports(const vkf__checker *check, vkf__layer_desc *layer, vkf_port mask_port, vkf_port key_port,
                               const vkf_tensor *external, const vkf_attention_mask *mask, uint32_t heads,
                               const vkf_layer_sizes *sizes)
{
    const uint32_t shared[] = {sizes->query_len, sizes->key_len};
    const uint32_t per_head[] = {sizes->batch * heads, sizes->query_len, sizes->key_len};
    const uint32_t keys[] = {sizes->batch, sizes->key_len};
    if (mask->kind != VKF_MASK_NONE)
        VKF_RETURN_IF_ERROR(vkf__set_port(check, layer, mask_port, external, vkf__mask_dtype(mask->kind),
                                          mask->per_head ? 3 : 2, mask->per_head ? per_head : shared));
    if (mask->key_kind != VKF_MASK_NONE)
        VKF_RETURN_IF_ERROR(vkf__set_port(check, layer, key_port, external, vkf__mask_dtype(mask->key_kind),
                                          mask->key_kind == VKF_MASK_LENGTHS ? 1 : 2, keys));
    return VKF_OK;
}

vkf_status vkf__give_layer_plan(const vkf__checker *check, const vkf__layer_desc *layer, vkf_memory_plan *out_plan,
                                size_t plan_bytes)
{
    vkf_memory_plan plan;
    VKF_RETURN_IF_ERROR(vkf__check_sized(check->host, check->function, plan_bytes));
    VKF_RETURN_IF_ERROR(vkf__layer_plan(check->context, layer, &plan));
    (void)vkf__give_sized(out_plan, plan_bytes, &plan, sizeof plan);
    return VKF_OK;
}

vkf_status vkf__check_frames(const vkf__checker *check, uint32_t frames_in_flight, uint32_t *out_frames)
{
    if (frames_in_flight > VKF_MAX_FRAMES_IN_FLIGHT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: frames_in_flight is %u, at most %u is possible",
                         check->function, frames_in_flight, VKF_MAX_FRAMES_IN_FLIGHT);
    *out_frames = frames_in_flight > 0 ? frames_in_flight : 1;
    return VKF_OK;
}

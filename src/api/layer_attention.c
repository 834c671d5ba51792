// Public constructor of attention layers.
#include "api/layer_check.h"
#include "base/sized.h"

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
    return value > 0 ? value : fallback;
}

static vkf__attention_dims dims_of(const vkf_attention_desc *desc)
{
    uint32_t head_dim = desc->head_dim;
    if (head_dim == 0 && desc->num_heads > 0)
        head_dim = desc->embed_dim / desc->num_heads;
    return (vkf__attention_dims){
        .embed_dim = desc->embed_dim,
        .heads = desc->num_heads,
        .head_dim = head_dim,
        .v_head_dim = or_default(desc->v_head_dim, head_dim),
        .kdim = or_default(desc->kdim, desc->embed_dim),
        .vdim = or_default(desc->vdim, desc->embed_dim),
    };
}

static vkf_status check_dims(const vkf__checker *check, const vkf_attention_desc *desc, const vkf__attention_dims *d)
{
    if (d->embed_dim == 0 || d->heads == 0 || d->head_dim == 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: embed_dim, num_heads or head_dim is 0",
                         check->function);
    if (desc->head_dim == 0 && d->embed_dim % d->heads != 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: embed_dim %u is no multiple of num_heads %u; give head_dim", check->function,
                         d->embed_dim, d->heads);
    if ((uint64_t)d->heads * d->head_dim > UINT32_MAX / 4 || (uint64_t)d->heads * d->v_head_dim > UINT32_MAX / 4)
        return vkf__fail(check->host, VKF_ERROR_TOO_LARGE, "%s: num_heads * head_dim is too large", check->function);
    if (desc->self_attention && (d->kdim != d->embed_dim || d->vdim != d->embed_dim))
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: self attention with kdim or vdim unequal to embed_dim", check->function);
    if ((desc->dtype != VKF_DTYPE_F32 && desc->dtype != VKF_DTYPE_F16) || desc->fully_masked >= VKF_FULLY_MASKED_COUNT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: dtype must be f32 or f16, fully_masked known",
                         check->function);
    return VKF_OK;
}

static vkf_status set_ports(const vkf__checker *check, const vkf_attention_desc *desc, const vkf__attention_dims *d,
                            vkf__layer_desc *layer)
{
    const vkf_tensor *external = desc->ports;
    vkf_layer_sizes sizes = desc->max_sizes;
    if (desc->self_attention)
        sizes.key_len = sizes.query_len;
    uint32_t columns = sizes.key_len + (desc->params.bias_k.rank > 0 ? 1 : 0) + (desc->add_zero_attn ? 1 : 0);
    const uint32_t query[] = {sizes.batch, sizes.query_len, d->embed_dim};
    const uint32_t key[] = {sizes.batch, sizes.key_len, d->kdim};
    const uint32_t value[] = {sizes.batch, sizes.key_len, d->vdim};
    const uint32_t weights[] = {sizes.batch, sizes.query_len, columns};
    const uint32_t per_head[] = {sizes.batch, d->heads, sizes.query_len, columns};
    VKF_RETURN_IF_ERROR(vkf__set_port(check, layer, VKF_PORT_QUERY, external, desc->dtype, 3, query));
    VKF_RETURN_IF_ERROR(vkf__set_port(check, layer, VKF_PORT_OUTPUT, external, desc->dtype, 3, query));
    if (!desc->self_attention) {
        VKF_RETURN_IF_ERROR(vkf__set_port(check, layer, VKF_PORT_KEY, external, desc->dtype, 3, key));
        VKF_RETURN_IF_ERROR(vkf__set_port(check, layer, VKF_PORT_VALUE, external, desc->dtype, 3, value));
    }
    if (desc->weights)
        VKF_RETURN_IF_ERROR(vkf__set_port(check, layer, VKF_PORT_WEIGHTS, external, VKF_DTYPE_F32, 3, weights));
    if (desc->weights_per_head)
        VKF_RETURN_IF_ERROR(
            vkf__set_port(check, layer, VKF_PORT_WEIGHTS_PER_HEAD, external, VKF_DTYPE_F32, 4, per_head));
    return vkf__set_mask_ports(check, layer, VKF_PORT_MASK, VKF_PORT_KEY_MASK, external, &desc->mask, d->heads, &sizes);
}

static vkf_status describe(const vkf__checker *check, const vkf_attention_desc *desc, vkf__layer_desc *out_layer)
{
    const vkf__attention_dims d = dims_of(desc);
    VKF_RETURN_IF_ERROR(check_dims(check, desc, &d));
    VKF_RETURN_IF_ERROR(vkf__check_sizes(check, &desc->max_sizes, !desc->self_attention));
    VKF_RETURN_IF_ERROR(vkf__check_mask_desc(check, &desc->mask, "mask"));
    VKF_RETURN_IF_ERROR(vkf__check_ports(check, desc->ports));
    VKF_RETURN_IF_ERROR(vkf__check_weight_type(check, &desc->params.q_weight, "q_weight"));
    VKF_RETURN_IF_ERROR(vkf__check_attention_weights(check, &desc->params, &d, desc->params.q_weight.dtype));
    VKF_RETURN_IF_ERROR(
        vkf__check_rotary(check, &desc->params, &d, desc->max_sizes.query_len,
                          desc->self_attention && !desc->add_zero_attn && desc->params.bias_k.rank == 0));
    vkf__layer_desc layer = {
        .kind = VKF_LAYER_ATTENTION,
        .name = "attention",
        .attention = {.embed_dim = d.embed_dim,
                      .heads = d.heads,
                      .kv_heads = d.heads,
                      .head_dim = d.head_dim,
                      .v_head_dim = d.v_head_dim,
                      .kdim = d.kdim,
                      .vdim = d.vdim,
                      .add_zero_attn = desc->add_zero_attn,
                      .mask = desc->mask,
                      .fully_masked = desc->fully_masked,
                      .dtype = desc->dtype,
                      .params = vkf__attention_spans_of(&desc->params),
                      .fused_qkv = desc->params.in_proj,
                      .rotary_dim = desc->params.rotary.shape[1],
                      .rotary_interleaved = desc->params.rotary_interleaved},
        .self_attention = desc->self_attention,
        .max_sizes = desc->max_sizes,
    };
    if (desc->self_attention)
        layer.max_sizes.key_len = 0;
    VKF_RETURN_IF_ERROR(set_ports(check, desc, &d, &layer));
    VKF_RETURN_IF_ERROR(vkf__check_frames(check, desc->frames_in_flight, &layer.frames));
    *out_layer = layer;
    return VKF_OK;
}

vkf_status vkf_attention_create_sized(vkf_context *context, const vkf_attention_desc *desc, size_t desc_bytes,
                                      vkf_layer **out_layer)
{
    if (!context || !desc || !out_layer)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_attention_create");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_attention_create", vkf_attention_desc, desc, desc_bytes);
    const vkf__checker check = {.host = &context->host, .function = "vkf_attention_create", .context = context};
    vkf__layer_desc layer;
    VKF_RETURN_IF_ERROR(describe(&check, desc, &layer));
    return vkf__layer_create(context, &layer, out_layer);
}

vkf_status vkf_attention_plan_sized(vkf_context *context, const vkf_attention_desc *desc, size_t desc_bytes,
                                    vkf_memory_plan *out_plan, size_t plan_bytes)
{
    if (!context || !desc || !out_plan)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_attention_plan");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_attention_plan", vkf_attention_desc, desc, desc_bytes);
    const vkf__checker check = {
        .host = &context->host, .function = "vkf_attention_plan", .buffers_optional = true, .context = context};
    vkf__layer_desc layer;
    VKF_RETURN_IF_ERROR(describe(&check, desc, &layer));
    return vkf__give_layer_plan(&check, &layer, out_plan, plan_bytes);
}

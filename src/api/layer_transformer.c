// Public constructors of feed-forward, encoder and decoder layers.
#include "api/layer_check.h"
#include "base/sized.h"

static vkf_status check_type(const vkf__checker *check, vkf_dtype dtype, vkf_activation activation)
{
    if ((dtype == VKF_DTYPE_F32 || dtype == VKF_DTYPE_F16) && activation < VKF_ACTIVATION_COUNT)
        return VKF_OK;
    return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT, "%s: dtype must be f32 or f16, the activation known",
                     check->function);
}

static vkf_status describe_feed_forward(const vkf__checker *check, const vkf_feed_forward_desc *desc,
                                        vkf__layer_desc *out_layer)
{
    const uint32_t shape[] = {desc->max_sizes.batch, desc->max_sizes.query_len, desc->d_model};
    VKF_RETURN_IF_ERROR(check_type(check, desc->dtype, desc->activation));
    VKF_RETURN_IF_ERROR(vkf__check_ports(check, desc->ports));
    VKF_RETURN_IF_ERROR(vkf__check_sizes(check, &desc->max_sizes, false));
    VKF_RETURN_IF_ERROR(vkf__check_weight_type(check, &desc->params.weight1, "weight1"));
    VKF_RETURN_IF_ERROR(vkf__check_feed_forward_weights(check, &desc->params, desc->d_model, desc->dim_feedforward,
                                                        desc->params.weight1.dtype));
    vkf__layer_desc layer = {
        .kind = VKF_LAYER_FEED_FORWARD,
        .name = "feed_forward",
        .feed_forward = vkf__feed_forward_block_of(desc->d_model, desc->dim_feedforward, desc->activation, desc->dtype,
                                                   &desc->params),
        .max_sizes = desc->max_sizes,
    };
    layer.max_sizes.key_len = 0;
    VKF_RETURN_IF_ERROR(vkf__set_port(check, &layer, VKF_PORT_QUERY, desc->ports, desc->dtype, 3, shape));
    VKF_RETURN_IF_ERROR(vkf__set_port(check, &layer, VKF_PORT_OUTPUT, desc->ports, desc->dtype, 3, shape));
    VKF_RETURN_IF_ERROR(vkf__check_frames(check, desc->frames_in_flight, &layer.frames));
    *out_layer = layer;
    return VKF_OK;
}

static vkf_status check_weights(const vkf__checker *check, const vkf_transformer_layer_desc *desc, bool decoder)
{
    VKF_RETURN_IF_ERROR(vkf__check_weight_type(check, &desc->self.q_weight, "q_weight"));
    vkf_dtype dtype = desc->self.q_weight.dtype;
    uint32_t head_dim = desc->d_model / desc->num_heads;
    const vkf__attention_dims dims = {desc->d_model, desc->num_heads, head_dim, head_dim, desc->d_model, desc->d_model};
    VKF_RETURN_IF_ERROR(vkf__check_attention_weights(check, &desc->self, &dims, dtype));
    VKF_RETURN_IF_ERROR(vkf__check_rotary(check, &desc->self, &dims, desc->max_sizes.query_len, true));
    if (decoder) {
        VKF_RETURN_IF_ERROR(vkf__check_attention_weights(check, &desc->cross, &dims, dtype));
        VKF_RETURN_IF_ERROR(vkf__check_rotary(check, &desc->cross, &dims, desc->max_sizes.query_len, false));
    }
    VKF_RETURN_IF_ERROR(
        vkf__check_feed_forward_weights(check, &desc->feed_forward, desc->d_model, desc->dim_feedforward, dtype));
    VKF_RETURN_IF_ERROR(vkf__check_norm_weights(check, &desc->norm1, desc->d_model, dtype));
    VKF_RETURN_IF_ERROR(vkf__check_norm_weights(check, &desc->norm2, desc->d_model, dtype));
    return vkf__check_norm_weights(check, &desc->norm3, desc->d_model, dtype);
}

static vkf_status check_layer(const vkf__checker *check, const vkf_transformer_layer_desc *desc, bool decoder)
{
    VKF_RETURN_IF_ERROR(check_type(check, desc->dtype, desc->activation));
    VKF_RETURN_IF_ERROR(vkf__check_ports(check, desc->ports));
    if (desc->d_model == 0 || desc->num_heads == 0 || desc->d_model % desc->num_heads != 0 ||
        !(desc->layer_norm_eps >= 0.0f) || desc->fully_masked >= VKF_FULLY_MASKED_COUNT)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: d_model must be a multiple of num_heads, layer_norm_eps not below 0, fully_masked known",
                         check->function);
    if (desc->self.bias_k.rank > 0 || desc->cross.bias_k.rank > 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: bias_k is for vkf_attention_create alone, as in PyTorch", check->function);
    VKF_RETURN_IF_ERROR(vkf__check_sizes(check, &desc->max_sizes, decoder));
    VKF_RETURN_IF_ERROR(vkf__check_mask_desc(check, &desc->self_mask, "self_mask"));
    VKF_RETURN_IF_ERROR(vkf__check_mask_desc(check, &desc->cross_mask, "cross_mask"));
    return check_weights(check, desc, decoder);
}

static vkf_status describe_layer(const vkf__checker *check, const vkf_transformer_layer_desc *desc, bool decoder,
                                 vkf__layer_desc *out_layer)
{
    VKF_RETURN_IF_ERROR(check_layer(check, desc, decoder));
    vkf__layer_desc layer = {
        .kind = decoder ? VKF_LAYER_DECODER : VKF_LAYER_ENCODER,
        .name = decoder ? "decoder_layer" : "encoder_layer",
        .transformer = vkf__transformer_block_of(desc),
        .max_sizes = desc->max_sizes,
    };
    vkf_layer_sizes self = desc->max_sizes;
    self.key_len = self.query_len;
    const uint32_t x[] = {self.batch, self.query_len, desc->d_model};
    const uint32_t memory[] = {self.batch, desc->max_sizes.key_len, desc->d_model};
    VKF_RETURN_IF_ERROR(vkf__set_port(check, &layer, VKF_PORT_QUERY, desc->ports, desc->dtype, 3, x));
    VKF_RETURN_IF_ERROR(vkf__set_port(check, &layer, VKF_PORT_OUTPUT, desc->ports, desc->dtype, 3, x));
    VKF_RETURN_IF_ERROR(vkf__set_mask_ports(check, &layer, VKF_PORT_MASK, VKF_PORT_KEY_MASK, desc->ports,
                                            &desc->self_mask, desc->num_heads, &self));
    if (decoder) {
        VKF_RETURN_IF_ERROR(vkf__set_port(check, &layer, VKF_PORT_MEMORY, desc->ports, desc->dtype, 3, memory));
        VKF_RETURN_IF_ERROR(vkf__set_mask_ports(check, &layer, VKF_PORT_MEMORY_MASK, VKF_PORT_MEMORY_KEY_MASK,
                                                desc->ports, &desc->cross_mask, desc->num_heads, &desc->max_sizes));
    } else {
        layer.max_sizes.key_len = 0;
    }
    VKF_RETURN_IF_ERROR(vkf__check_frames(check, desc->frames_in_flight, &layer.frames));
    *out_layer = layer;
    return VKF_OK;
}

static vkf_status create_layer(vkf_context *context, const vkf_transformer_layer_desc *desc, size_t desc_bytes,
                               bool decoder, const char *function, vkf_layer **out_layer)
{
    if (!context || !desc || !out_layer)
        return vkf__null_argument(function);
    vkf_status status = vkf__context_enter(context, function);
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, function, vkf_transformer_layer_desc, desc, desc_bytes);
    const vkf__checker check = {.host = &context->host, .function = function, .context = context};
    vkf__layer_desc layer;
    VKF_RETURN_IF_ERROR(describe_layer(&check, desc, decoder, &layer));
    return vkf__layer_create(context, &layer, out_layer);
}

static vkf_status plan_layer(vkf_context *context, const vkf_transformer_layer_desc *desc, size_t desc_bytes,
                             bool decoder, const char *function, vkf_memory_plan *out_plan, size_t plan_bytes)
{
    if (!context || !desc || !out_plan)
        return vkf__null_argument(function);
    vkf_status status = vkf__context_enter(context, function);
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, function, vkf_transformer_layer_desc, desc, desc_bytes);
    const vkf__checker check = {
        .host = &context->host, .function = function, .buffers_optional = true, .context = context};
    vkf__layer_desc layer;
    VKF_RETURN_IF_ERROR(describe_layer(&check, desc, decoder, &layer));
    return vkf__give_layer_plan(&check, &layer, out_plan, plan_bytes);
}

vkf_status vkf_encoder_layer_create_sized(vkf_context *context, const vkf_transformer_layer_desc *desc,
                                          size_t desc_bytes, vkf_layer **out_layer)
{
    return create_layer(context, desc, desc_bytes, false, "vkf_encoder_layer_create", out_layer);
}

vkf_status vkf_encoder_layer_plan_sized(vkf_context *context, const vkf_transformer_layer_desc *desc, size_t desc_bytes,
                                        vkf_memory_plan *out_plan, size_t plan_bytes)
{
    return plan_layer(context, desc, desc_bytes, false, "vkf_encoder_layer_plan", out_plan, plan_bytes);
}

vkf_status vkf_decoder_layer_create_sized(vkf_context *context, const vkf_transformer_layer_desc *desc,
                                          size_t desc_bytes, vkf_layer **out_layer)
{
    return create_layer(context, desc, desc_bytes, true, "vkf_decoder_layer_create", out_layer);
}

vkf_status vkf_decoder_layer_plan_sized(vkf_context *context, const vkf_transformer_layer_desc *desc, size_t desc_bytes,
                                        vkf_memory_plan *out_plan, size_t plan_bytes)
{
    return plan_layer(context, desc, desc_bytes, true, "vkf_decoder_layer_plan", out_plan, plan_bytes);
}

vkf_status vkf_feed_forward_create_sized(vkf_context *context, const vkf_feed_forward_desc *desc, size_t desc_bytes,
                                         vkf_layer **out_layer)
{
    if (!context || !desc || !out_layer)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_feed_forward_create");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_feed_forward_create", vkf_feed_forward_desc, desc, desc_bytes);
    const vkf__checker check = {.host = &context->host, .function = "vkf_feed_forward_create", .context = context};
    vkf__layer_desc layer;
    VKF_RETURN_IF_ERROR(describe_feed_forward(&check, desc, &layer));
    return vkf__layer_create(context, &layer, out_layer);
}

vkf_status vkf_feed_forward_plan_sized(vkf_context *context, const vkf_feed_forward_desc *desc, size_t desc_bytes,
                                       vkf_memory_plan *out_plan, size_t plan_bytes)
{
    if (!context || !desc || !out_plan)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_feed_forward_plan");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_feed_forward_plan", vkf_feed_forward_desc, desc, desc_bytes);
    const vkf__checker check = {
        .host = &context->host, .function = "vkf_feed_forward_plan", .buffers_optional = true, .context = context};
    vkf__layer_desc layer;
    VKF_RETURN_IF_ERROR(describe_feed_forward(&check, desc, &layer));
    return vkf__give_layer_plan(&check, &layer, out_plan, plan_bytes);
}

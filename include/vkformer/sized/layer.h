// What the inline functions of <vkformer/layer.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_LAYER_H
#define VKFORMER_SIZED_LAYER_H

#include <vkformer/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_attention_create_sized(vkf_context *context, const vkf_attention_desc *desc,
                                                             size_t desc_bytes, vkf_layer **out_layer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_attention_create(vkf_context *context, const vkf_attention_desc *desc,
                                                          vkf_layer **out_layer)
{
    return vkf_attention_create_sized(context, desc, sizeof *desc, out_layer);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_attention_plan_sized(vkf_context *context, const vkf_attention_desc *desc,
                                                           size_t desc_bytes, vkf_memory_plan *out_plan,
                                                           size_t plan_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_attention_plan(vkf_context *context, const vkf_attention_desc *desc,
                                                        vkf_memory_plan *out_plan)
{
    return vkf_attention_plan_sized(context, desc, sizeof *desc, out_plan, sizeof *out_plan);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_feed_forward_create_sized(vkf_context *context, const vkf_feed_forward_desc *desc,
                                                                size_t desc_bytes, vkf_layer **out_layer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_feed_forward_create(vkf_context *context, const vkf_feed_forward_desc *desc,
                                                             vkf_layer **out_layer)
{
    return vkf_feed_forward_create_sized(context, desc, sizeof *desc, out_layer);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_feed_forward_plan_sized(vkf_context *context, const vkf_feed_forward_desc *desc,
                                                              size_t desc_bytes, vkf_memory_plan *out_plan,
                                                              size_t plan_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_feed_forward_plan(vkf_context *context, const vkf_feed_forward_desc *desc,
                                                           vkf_memory_plan *out_plan)
{
    return vkf_feed_forward_plan_sized(context, desc, sizeof *desc, out_plan, sizeof *out_plan);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_encoder_layer_create_sized(vkf_context *context,
                                                                 const vkf_transformer_layer_desc *desc,
                                                                 size_t desc_bytes, vkf_layer **out_layer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_encoder_layer_create(vkf_context *context,
                                                              const vkf_transformer_layer_desc *desc,
                                                              vkf_layer **out_layer)
{
    return vkf_encoder_layer_create_sized(context, desc, sizeof *desc, out_layer);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_encoder_layer_plan_sized(vkf_context *context,
                                                               const vkf_transformer_layer_desc *desc,
                                                               size_t desc_bytes, vkf_memory_plan *out_plan,
                                                               size_t plan_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_encoder_layer_plan(vkf_context *context,
                                                            const vkf_transformer_layer_desc *desc,
                                                            vkf_memory_plan *out_plan)
{
    return vkf_encoder_layer_plan_sized(context, desc, sizeof *desc, out_plan, sizeof *out_plan);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_decoder_layer_create_sized(vkf_context *context,
                                                                 const vkf_transformer_layer_desc *desc,
                                                                 size_t desc_bytes, vkf_layer **out_layer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_decoder_layer_create(vkf_context *context,
                                                              const vkf_transformer_layer_desc *desc,
                                                              vkf_layer **out_layer)
{
    return vkf_decoder_layer_create_sized(context, desc, sizeof *desc, out_layer);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_decoder_layer_plan_sized(vkf_context *context,
                                                               const vkf_transformer_layer_desc *desc,
                                                               size_t desc_bytes, vkf_memory_plan *out_plan,
                                                               size_t plan_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_decoder_layer_plan(vkf_context *context,
                                                            const vkf_transformer_layer_desc *desc,
                                                            vkf_memory_plan *out_plan)
{
    return vkf_decoder_layer_plan_sized(context, desc, sizeof *desc, out_plan, sizeof *out_plan);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_layer_get_timings_sized(vkf_layer *layer, uint32_t *inout_count,
                                                              vkf_timing *out_timings, size_t timing_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_layer_get_timings(vkf_layer *layer, uint32_t *inout_count,
                                                           vkf_timing *out_timings)
{
    return vkf_layer_get_timings_sized(layer, inout_count, out_timings, sizeof *out_timings);
}

#ifdef __cplusplus
}
#endif
#endif

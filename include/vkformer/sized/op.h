// What the inline functions of <vkformer/op.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_OP_H
#define VKFORMER_SIZED_OP_H

#include <vkformer/op.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_gemm_sized(vkf_context *context, const vkf_gemm_desc *desc, size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_gemm(vkf_context *context, const vkf_gemm_desc *desc)
{
    return vkf_gemm_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_quantize_linear_sized(vkf_context *context, const vkf_quantize_linear_desc *desc,
                                                            size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_quantize_linear(vkf_context *context, const vkf_quantize_linear_desc *desc)
{
    return vkf_quantize_linear_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_dequantize_linear_sized(vkf_context *context,
                                                              const vkf_quantize_linear_desc *desc, size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_dequantize_linear(vkf_context *context, const vkf_quantize_linear_desc *desc)
{
    return vkf_dequantize_linear_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_gemm_int8_sized(vkf_context *context, const vkf_gemm_int8_desc *desc,
                                                      size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_gemm_int8(vkf_context *context, const vkf_gemm_int8_desc *desc)
{
    return vkf_gemm_int8_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_softmax_sized(vkf_context *context, const vkf_softmax_desc *desc,
                                                    size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_softmax(vkf_context *context, const vkf_softmax_desc *desc)
{
    return vkf_softmax_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_scaled_dot_product_attention_sized(vkf_context *context,
                                                                         const vkf_sdpa_desc *desc, size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_scaled_dot_product_attention(vkf_context *context, const vkf_sdpa_desc *desc)
{
    return vkf_scaled_dot_product_attention_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_layer_norm_sized(vkf_context *context, const vkf_layer_norm_desc *desc,
                                                       size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_layer_norm(vkf_context *context, const vkf_layer_norm_desc *desc)
{
    return vkf_layer_norm_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_embed_sized(vkf_context *context, const vkf_embed_desc *desc, size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_embed(vkf_context *context, const vkf_embed_desc *desc)
{
    return vkf_embed_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_rotary_sized(vkf_context *context, const vkf_rotary_desc *desc,
                                                   size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_rotary(vkf_context *context, const vkf_rotary_desc *desc)
{
    return vkf_rotary_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_additive_scores_sized(vkf_context *context, const vkf_additive_scores_desc *desc,
                                                            size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_additive_scores(vkf_context *context, const vkf_additive_scores_desc *desc)
{
    return vkf_additive_scores_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_argmax_sized(vkf_context *context, const vkf_argmax_desc *desc,
                                                   size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_argmax(vkf_context *context, const vkf_argmax_desc *desc)
{
    return vkf_argmax_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_activate_sized(vkf_context *context, const vkf_activate_desc *desc,
                                                     size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_activate(vkf_context *context, const vkf_activate_desc *desc)
{
    return vkf_activate_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_concat_sized(vkf_context *context, const vkf_concat_desc *desc,
                                                   size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_concat(vkf_context *context, const vkf_concat_desc *desc)
{
    return vkf_concat_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_gather_sized(vkf_context *context, const vkf_gather_desc *desc,
                                                   size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_gather(vkf_context *context, const vkf_gather_desc *desc)
{
    return vkf_gather_sized(context, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_scatter_sized(vkf_context *context, const vkf_scatter_desc *desc,
                                                    size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_scatter(vkf_context *context, const vkf_scatter_desc *desc)
{
    return vkf_scatter_sized(context, desc, sizeof *desc);
}

#ifdef __cplusplus
}
#endif
#endif

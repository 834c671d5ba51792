// What the inline functions of <vkformer/vulkan.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_VULKAN_H
#define VKFORMER_SIZED_VULKAN_H

#include <vkformer/vulkan.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_device_setup_create_sized(const vkf_context_desc *desc, size_t desc_bytes,
                                                                vkf_device_setup **out_setup);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_device_setup_create(const vkf_context_desc *desc, vkf_device_setup **out_setup)
{
    return vkf_device_setup_create_sized(desc, sizeof *desc, out_setup);
}

VKF_API void vkf_context_get_vulkan_sized(const vkf_context *context, vkf_vulkan_handles *out_handles,
                                          size_t handles_bytes);
VKF_INLINE void vkf_context_get_vulkan(const vkf_context *context, vkf_vulkan_handles *out_handles)
{
    vkf_context_get_vulkan_sized(context, out_handles, sizeof *out_handles);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_layer_submit_sized(vkf_layer *layer, const vkf_layer_submit_desc *desc,
                                                         size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_layer_submit(vkf_layer *layer, const vkf_layer_submit_desc *desc)
{
    return vkf_layer_submit_sized(layer, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_submit_encode_sized(vkf_session *session, const vkf_encode_args *args,
                                                                  size_t args_bytes,
                                                                  const vkf_session_submit_desc *desc,
                                                                  size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_submit_encode(vkf_session *session, const vkf_encode_args *args,
                                                               const vkf_session_submit_desc *desc)
{
    return vkf_session_submit_encode_sized(session, args, sizeof *args, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_submit_step_sized(vkf_session *session, const vkf_step_args *args,
                                                                size_t args_bytes, const vkf_session_submit_desc *desc,
                                                                size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_submit_step(vkf_session *session, const vkf_step_args *args,
                                                             const vkf_session_submit_desc *desc)
{
    return vkf_session_submit_step_sized(session, args, sizeof *args, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_submit_prefill_sized(vkf_session *session, const vkf_prefill_args *args,
                                                                   size_t args_bytes,
                                                                   const vkf_session_submit_desc *desc,
                                                                   size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_submit_prefill(vkf_session *session, const vkf_prefill_args *args,
                                                                const vkf_session_submit_desc *desc)
{
    return vkf_session_submit_prefill_sized(session, args, sizeof *args, desc, sizeof *desc);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_prepare_encode_sized(vkf_session *session, const vkf_encode_args *args,
                                                                   size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_prepare_encode(vkf_session *session, const vkf_encode_args *args)
{
    return vkf_session_prepare_encode_sized(session, args, sizeof *args);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_session_prepare_step_sized(vkf_session *session, const vkf_step_args *args,
                                                                 size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_session_prepare_step(vkf_session *session, const vkf_step_args *args)
{
    return vkf_session_prepare_step_sized(session, args, sizeof *args);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_buffer_wrap_sized(vkf_context *context, const vkf_wrapped_buffer_desc *desc,
                                                        size_t desc_bytes, vkf_buffer **out_buffer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_buffer_wrap(vkf_context *context, const vkf_wrapped_buffer_desc *desc,
                                                     vkf_buffer **out_buffer)
{
    return vkf_buffer_wrap_sized(context, desc, sizeof *desc, out_buffer);
}

#ifdef __cplusplus
}
#endif
#endif

// What the inline functions of <vkformer/context.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_CONTEXT_H
#define VKFORMER_SIZED_CONTEXT_H

#include <vkformer/context.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_context_create_sized(const vkf_context_desc *desc, size_t desc_bytes,
                                                           vkf_context **out_context);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_context_create(const vkf_context_desc *desc, vkf_context **out_context)
{
    return vkf_context_create_sized(desc, sizeof *desc, out_context);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_enumerate_devices_sized(const vkf_context_desc *desc, size_t desc_bytes,
                                                              uint32_t *inout_count, vkf_device_info *out_infos,
                                                              size_t info_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_enumerate_devices(const vkf_context_desc *desc, uint32_t *inout_count,
                                                           vkf_device_info *out_infos)
{
    return vkf_enumerate_devices_sized(desc, sizeof *desc, inout_count, out_infos, sizeof *out_infos);
}

VKF_API void vkf_context_get_device_info_sized(const vkf_context *context, vkf_device_info *out_info,
                                               size_t info_bytes);
VKF_INLINE void vkf_context_get_device_info(const vkf_context *context, vkf_device_info *out_info)
{
    vkf_context_get_device_info_sized(context, out_info, sizeof *out_info);
}

VKF_API void vkf_context_get_memory_usage_sized(vkf_context *context, vkf_memory_usage *out_usage, size_t usage_bytes);
VKF_INLINE void vkf_context_get_memory_usage(vkf_context *context, vkf_memory_usage *out_usage)
{
    vkf_context_get_memory_usage_sized(context, out_usage, sizeof *out_usage);
}

VKF_API bool vkf_last_limit_sized(vkf_limit *out_limit, size_t limit_bytes);
VKF_INLINE bool vkf_last_limit(vkf_limit *out_limit)
{
    return vkf_last_limit_sized(out_limit, sizeof *out_limit);
}

#ifdef __cplusplus
}
#endif
#endif

// What the inline functions of <vkformer/directory.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_DIRECTORY_H
#define VKFORMER_SIZED_DIRECTORY_H

#include <vkformer/directory.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_inspection_load_sized(const vkf_inspection_desc *desc, size_t desc_bytes,
                                                            vkf_inspection **out_inspection);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_inspection_load(const vkf_inspection_desc *desc,
                                                         vkf_inspection **out_inspection)
{
    return vkf_inspection_load_sized(desc, sizeof *desc, out_inspection);
}

VKF_API void vkf_inspection_get_info_sized(const vkf_inspection *inspection, vkf_inspection_info *out_info,
                                           size_t info_bytes);
VKF_INLINE void vkf_inspection_get_info(const vkf_inspection *inspection, vkf_inspection_info *out_info)
{
    vkf_inspection_get_info_sized(inspection, out_info, sizeof *out_info);
}

VKF_API bool vkf_inspection_get_stored_sized(const vkf_inspection *inspection, uint32_t index,
                                             vkf_stored_type *out_type, size_t type_bytes);
VKF_INLINE bool vkf_inspection_get_stored(const vkf_inspection *inspection, uint32_t index, vkf_stored_type *out_type)
{
    return vkf_inspection_get_stored_sized(inspection, index, out_type, sizeof *out_type);
}

VKF_API bool vkf_inspection_get_module_sized(const vkf_inspection *inspection, const char *part, const char *label,
                                             vkf_module_result *out_result, size_t result_bytes);
VKF_INLINE bool vkf_inspection_get_module(const vkf_inspection *inspection, const char *part, const char *label,
                                          vkf_module_result *out_result)
{
    return vkf_inspection_get_module_sized(inspection, part, label, out_result, sizeof *out_result);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_read_adapter_base_sized(const vkf_inspection_desc *desc, size_t desc_bytes,
                                                              size_t *inout_bytes, char *out_name);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_read_adapter_base(const vkf_inspection_desc *desc, size_t *inout_bytes,
                                                           char *out_name)
{
    return vkf_read_adapter_base_sized(desc, sizeof *desc, inout_bytes, out_name);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_quantize_sized(const vkf_quantize_desc *desc, size_t desc_bytes,
                                                     vkf_quantize_result *out_result, size_t result_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_quantize(const vkf_quantize_desc *desc, vkf_quantize_result *out_result)
{
    return vkf_quantize_sized(desc, sizeof *desc, out_result, sizeof *out_result);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_draw_weights_sized(const vkf_draw_weights_desc *desc, size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_draw_weights(const vkf_draw_weights_desc *desc)
{
    return vkf_draw_weights_sized(desc, sizeof *desc);
}

#ifdef __cplusplus
}
#endif
#endif

// What the inline functions of <vkformer/tensor.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_TENSOR_H
#define VKFORMER_SIZED_TENSOR_H

#include <vkformer/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_buffer_export_sized(vkf_buffer *buffer, vkf_exported_memory *out_memory,
                                                          size_t memory_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_buffer_export(vkf_buffer *buffer, vkf_exported_memory *out_memory)
{
    return vkf_buffer_export_sized(buffer, out_memory, sizeof *out_memory);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_buffer_import_sized(vkf_context *context, const vkf_imported_memory *from,
                                                          size_t from_bytes, vkf_buffer **out_buffer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_buffer_import(vkf_context *context, const vkf_imported_memory *from,
                                                       vkf_buffer **out_buffer)
{
    return vkf_buffer_import_sized(context, from, sizeof *from, out_buffer);
}

#ifdef __cplusplus
}
#endif
#endif

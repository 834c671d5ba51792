// What the inline functions of <vkformer/kernels.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_KERNELS_H
#define VKFORMER_SIZED_KERNELS_H

#include <vkformer/kernels.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_context_report_shader_sized(vkf_context *context, const vkf_shader_desc *desc,
                                                                  size_t desc_bytes, vkf_kernel_report_fn visit,
                                                                  void *user);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_context_report_shader(vkf_context *context, const vkf_shader_desc *desc,
                                                               vkf_kernel_report_fn visit, void *user)
{
    return vkf_context_report_shader_sized(context, desc, sizeof *desc, visit, user);
}

#ifdef __cplusplus
}
#endif
#endif

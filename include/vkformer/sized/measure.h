// What the inline functions of <vkformer/measure.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_MEASURE_H
#define VKFORMER_SIZED_MEASURE_H

#include <vkformer/measure.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_measure_roofs_sized(vkf_context *context, vkf_progress_fn progress, void *user,
                                                          vkf_roofs *out_roofs, size_t roofs_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_measure_roofs(vkf_context *context, vkf_progress_fn progress, void *user,
                                                       vkf_roofs *out_roofs)
{
    return vkf_measure_roofs_sized(context, progress, user, out_roofs, sizeof *out_roofs);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_measure_fma_sized(vkf_context *context, const vkf_measure_fma_desc *desc,
                                                        size_t desc_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_measure_fma(vkf_context *context, const vkf_measure_fma_desc *desc)
{
    return vkf_measure_fma_sized(context, desc, sizeof *desc);
}

VKF_API double vkf_measure_fma_flops_sized(const vkf_measure_fma_desc *desc, size_t desc_bytes);
VKF_INLINE double vkf_measure_fma_flops(const vkf_measure_fma_desc *desc)
{
    return vkf_measure_fma_flops_sized(desc, sizeof *desc);
}

#ifdef __cplusplus
}
#endif
#endif

// What the inline functions of <vkformer/plan.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_PLAN_H
#define VKFORMER_SIZED_PLAN_H

#include <vkformer/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_device_description_create_sized(const vkf_device_description_desc *desc,
                                                                      size_t desc_bytes,
                                                                      vkf_device_description **out_description);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_device_description_create(const vkf_device_description_desc *desc,
                                                                   vkf_device_description **out_description)
{
    return vkf_device_description_create_sized(desc, sizeof *desc, out_description);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_model_plan_dispatches_sized(vkf_context *context, const vkf_model_desc *desc,
                                                                  size_t desc_bytes, const vkf_session_desc *session,
                                                                  size_t session_bytes, vkf_planned_dispatch_fn visit,
                                                                  void *user);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_model_plan_dispatches(vkf_context *context, const vkf_model_desc *desc,
                                                               const vkf_session_desc *session,
                                                               vkf_planned_dispatch_fn visit, void *user)
{
    return vkf_model_plan_dispatches_sized(context, desc, sizeof *desc, session, sizeof *session, visit, user);
}

#ifdef __cplusplus
}
#endif
#endif

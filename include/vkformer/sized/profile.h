// What the inline functions of <vkformer/profile.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_PROFILE_H
#define VKFORMER_SIZED_PROFILE_H

#include <vkformer/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_context_set_profiler_sized(vkf_context *context, const vkf_profiler *profiler,
                                                                 size_t profiler_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_context_set_profiler(vkf_context *context, const vkf_profiler *profiler)
{
    return vkf_context_set_profiler_sized(context, profiler, sizeof *profiler);
}

#ifdef __cplusplus
}
#endif
#endif

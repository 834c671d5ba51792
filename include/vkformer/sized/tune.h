// What the inline functions of <vkformer/tune.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_TUNE_H
#define VKFORMER_SIZED_TUNE_H

#include <vkformer/tune.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_tune_sized(vkf_context *context, const vkf_tune_problem *problems, uint32_t count,
                                                 const vkf_tune_options *options, size_t options_bytes,
                                                 vkf_tune_result *out_results, size_t result_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_tune(vkf_context *context, const vkf_tune_problem *problems, uint32_t count,
                                              const vkf_tune_options *options, vkf_tune_result *out_results)
{
    return vkf_tune_sized(context, problems, count, options, sizeof *options, out_results, sizeof *out_results);
}

#ifdef __cplusplus
}
#endif
#endif

// What the inline functions of <vkformer/generate.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_GENERATE_H
#define VKFORMER_SIZED_GENERATE_H

#include <vkformer/generate.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_generator_load_sized(vkf_context *context, const vkf_generator_desc *desc,
                                                           size_t desc_bytes, vkf_generator **out_generator);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_generator_load(vkf_context *context, const vkf_generator_desc *desc,
                                                        vkf_generator **out_generator)
{
    return vkf_generator_load_sized(context, desc, sizeof *desc, out_generator);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_generator_run_sized(vkf_generator *generator, const vkf_generator_args *args,
                                                          size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_generator_run(vkf_generator *generator, const vkf_generator_args *args)
{
    return vkf_generator_run_sized(generator, args, sizeof *args);
}

#ifdef __cplusplus
}
#endif
#endif

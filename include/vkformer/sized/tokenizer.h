// What the inline functions of <vkformer/tokenizer.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_TOKENIZER_H
#define VKFORMER_SIZED_TOKENIZER_H

#include <vkformer/tokenizer.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_tokenizer_load_sized(const vkf_tokenizer_desc *desc, size_t desc_bytes,
                                                           vkf_tokenizer **out_tokenizer);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_tokenizer_load(const vkf_tokenizer_desc *desc, vkf_tokenizer **out_tokenizer)
{
    return vkf_tokenizer_load_sized(desc, sizeof *desc, out_tokenizer);
}

VKF_API void vkf_tokenizer_get_info_sized(const vkf_tokenizer *tokenizer, vkf_tokenizer_info *out_info,
                                          size_t info_bytes);
VKF_INLINE void vkf_tokenizer_get_info(const vkf_tokenizer *tokenizer, vkf_tokenizer_info *out_info)
{
    vkf_tokenizer_get_info_sized(tokenizer, out_info, sizeof *out_info);
}

#ifdef __cplusplus
}
#endif
#endif

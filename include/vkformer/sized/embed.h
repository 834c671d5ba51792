// What the inline functions of <vkformer/embed.h> do, and what they call: see docs/abi.md.
#ifndef VKFORMER_SIZED_EMBED_H
#define VKFORMER_SIZED_EMBED_H

#include <vkformer/embed.h>

#ifdef __cplusplus
extern "C" {
#endif

VKF_API VKF_MUST_CHECK vkf_status vkf_embedder_load_sized(vkf_context *context, const vkf_embedder_desc *desc,
                                                          size_t desc_bytes, vkf_embedder **out_embedder);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_embedder_load(vkf_context *context, const vkf_embedder_desc *desc,
                                                       vkf_embedder **out_embedder)
{
    return vkf_embedder_load_sized(context, desc, sizeof *desc, out_embedder);
}

VKF_API void vkf_embedder_get_special_tokens_sized(const vkf_embedder *embedder, vkf_special_tokens *out_tokens,
                                                   size_t tokens_bytes);
VKF_INLINE void vkf_embedder_get_special_tokens(const vkf_embedder *embedder, vkf_special_tokens *out_tokens)
{
    vkf_embedder_get_special_tokens_sized(embedder, out_tokens, sizeof *out_tokens);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_tokenizer_read_special_tokens_sized(const vkf_tokenizer *tokenizer,
                                                                          const char *directory,
                                                                          vkf_special_tokens *out_tokens,
                                                                          size_t tokens_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_tokenizer_read_special_tokens(const vkf_tokenizer *tokenizer,
                                                                       const char *directory,
                                                                       vkf_special_tokens *out_tokens)
{
    return vkf_tokenizer_read_special_tokens_sized(tokenizer, directory, out_tokens, sizeof *out_tokens);
}

VKF_API VKF_MUST_CHECK vkf_status vkf_embedder_run_sized(vkf_embedder *embedder, const vkf_embed_args *args,
                                                         size_t args_bytes);
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_embedder_run(vkf_embedder *embedder, const vkf_embed_args *args)
{
    return vkf_embedder_run_sized(embedder, args, sizeof *args);
}

#ifdef __cplusplus
}
#endif
#endif

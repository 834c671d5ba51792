// How many tokens an embedder makes of texts, and which it cuts.
#ifndef VKF_PROGRAM_TEXT_TOKENS_H
#define VKF_PROGRAM_TEXT_TOKENS_H

#include <vkformer/vkformer.h>

// The text that a run puts in front of every text; "" where there is none.
const char *vkf_prompt_of(const vkf_embedder *embedder, const vkf_embed_args *args);

// The tokens of the prompt and the text, and of the pair (which may be NULL), none of them cut, special ones counted.
// False: memory is exhausted, or the library has said why.
bool vkf_count_text_tokens(const vkf_embedder *embedder, const char *prompt, const vkf_text *text, const vkf_text *pair,
                           uint32_t *out_count);

// After a run that gave out_token_counts: warns, in one line, if texts were cut. The line ends with the advice. Returns
// false as above.
bool vkf_warn_of_cut_texts(const vkf_embedder *embedder, const vkf_embed_args *args, const char *advice);

#endif

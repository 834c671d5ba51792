// What stands beside a tokenizer.json and is not in it: which of its tokens have a part of their own, how long a text may
// be, and whether blanks before punctuation are taken out of decoded text.
#ifndef VKF_MODEL_TOKENIZER_CONFIG_H
#define VKF_MODEL_TOKENIZER_CONFIG_H

#include <vkformer/embed.h>

#include "text/tokenizer.h"

typedef struct vkf__tokenizer_config {
    vkf_special_tokens special;
    uint32_t max_length; // UINT32_MAX: nothing said
    bool cleans_up;
} vkf__tokenizer_config;

// Reads tokenizer_config.json and special_tokens_map.json, as far as they are there; without a word of theirs the tokens
// have the names that BERT's and RoBERTa's have. Statuses: FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__tokenizer_config_load(const vkf__host *host, const char *directory,
                                                     const vkf__tokenizer *tokenizer,
                                                     vkf__tokenizer_config *out_config);

// Of tokenizer_config.json alone, how many tokens a text may have; UINT32_MAX where it does not say. Statuses as above.
VKF_MUST_CHECK vkf_status vkf__tokenizer_max_length(const vkf__host *host, const char *directory,
                                                    uint32_t *out_max_length);

// Of tokenizer_config.json alone, what goes before tokenizer.json: the side that texts are cut at. Statuses as above,
// and UNSUPPORTED (another side).
VKF_MUST_CHECK vkf_status vkf__tokenizer_config_apply(const vkf__host *host, const char *directory,
                                                      vkf__tokenizer *tokenizer);

// Takes the blanks out of a text that ends with a zero, in place, as transformers' clean_up_tokenization() does; its bytes
// are returned.
size_t vkf__clean_up_blanks(char *text, size_t size_bytes);

#endif

// What tokenizer.json does not say and the files beside it do: which tokens are special, how long a text may be, and
// whether spaces before punctuation are removed from decoded text.
#ifndef VKF_MODEL_TOKENIZER_CONFIG_H
#define VKF_MODEL_TOKENIZER_CONFIG_H

#include <vkformer/embed.h>

#include "text/tokenizer.h"

typedef struct vkf__tokenizer_config {
    vkf_special_tokens special;
    uint32_t max_length; // in tokens; UINT32_MAX: none is given
    bool cleans_up;
} vkf__tokenizer_config;

// Reads tokenizer_config.json and special_tokens_map.json where they exist. A token that they do not name is looked for
// under its usual names. Statuses: FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__tokenizer_config_load(const vkf__host *host, const char *directory,
                                                     const vkf__tokenizer *tokenizer,
                                                     vkf__tokenizer_config *out_config);

// Applies what tokenizer_config.json overrides in tokenizer.json: the side at which texts are truncated. Statuses as
// above, and UNSUPPORTED (another side).
VKF_MUST_CHECK vkf_status vkf__tokenizer_config_apply(const vkf__host *host, const char *directory,
                                                      vkf__tokenizer *tokenizer);

// Removes spaces from a text in place as transformers' clean_up_tokenization() does, and ends it with a zero. Returns
// its new size in bytes.
size_t vkf__clean_up_blanks(char *text, size_t size_bytes);

#endif

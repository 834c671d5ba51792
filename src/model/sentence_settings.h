// config_sentence_transformers.json: what is done with texts and embeddings around the modules.
#ifndef VKF_MODEL_SENTENCE_SETTINGS_H
#define VKF_MODEL_SENTENCE_SETTINGS_H

#include <vkformer/embed.h>

#include "base/host.h"

typedef struct vkf__sentence_settings {
    vkf_embed_prompt *prompts; // (prompt_count), sorted by name; names and texts are owned
    uint32_t prompt_count;
    int32_t default_prompt; // -1: none
    uint32_t truncate_dim;  // 0: none
    vkf_similarity similarity;
} vkf__sentence_settings;

// Where there is no such file, or no modules.json beside it, there are "query" and "document", which are empty.
// Ownership: vkf__sentence_settings_free(), which accepts what is zero; on failure there is nothing to free. Statuses:
// FILE, FORMAT (names file and key), UNSUPPORTED (another similarity_fn_name), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__sentence_settings_load(const vkf__host *host, const char *directory,
                                                      vkf__sentence_settings *out_settings);
void vkf__sentence_settings_free(const vkf__host *host, vkf__sentence_settings *settings);

// NULL where no prompt has that name.
const vkf_embed_prompt *vkf__sentence_prompt(const vkf__sentence_settings *settings, const char *name);

#endif

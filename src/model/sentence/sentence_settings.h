// config_sentence_transformers.json: the prompts put before texts, and how embeddings are cut and compared.
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

// Reads the settings. Without the file, or without modules.json beside it, the prompts are "query" and "document", both
// empty. Ownership: vkf__sentence_settings_free(), which accepts zeroed settings; on failure there is nothing to free.
// Statuses: FILE, FORMAT (names file and key), UNSUPPORTED (another similarity_fn_name), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__sentence_settings_load(const vkf__host *host, const char *directory,
                                                      vkf__sentence_settings *out_settings);
void vkf__sentence_settings_free(const vkf__host *host, vkf__sentence_settings *settings);

// Returns NULL where no prompt has that name.
const vkf_embed_prompt *vkf__sentence_prompt(const vkf__sentence_settings *settings, const char *name);

#endif

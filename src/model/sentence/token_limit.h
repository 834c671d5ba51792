// How many tokens a text may have, which models look for without a tokenizer.
#ifndef VKF_MODEL_TOKEN_LIMIT_H
#define VKF_MODEL_TOKEN_LIMIT_H

#include "io/json_file.h"

// Loads a file of a model's directory; *out_root stays NULL where it does not exist. Statuses: FILE, FORMAT,
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__model_json_load(const vkf__host *host, const char *directory, const char *name,
                                               json_t **out_root);

// What tokenizer_config.json says; UINT32_MAX where it gives no limit.
uint32_t vkf__token_limit_of(const json_t *config);

// The same of the file in a directory. Statuses: FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__token_limit_load(const vkf__host *host, const char *directory, uint32_t *out_limit);

#endif

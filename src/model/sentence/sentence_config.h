// Reads the config.json of sentence-transformers' modules.
#ifndef VKF_MODEL_SENTENCE_CONFIG_H
#define VKF_MODEL_SENTENCE_CONFIG_H

#include <jansson.h>

#include "model/sentence/sentence_modules.h"

// Fills *out_module. `root` is the file's object, or NULL where there is none; in_dim is the dimension of the module's
// input. Statuses: FORMAT, UNSUPPORTED; both name file and key.
VKF_MUST_CHECK vkf_status vkf__sentence_config_read(const vkf__host *host, const char *path, const json_t *root,
                                                    vkf__sentence_module_kind kind, uint32_t in_dim,
                                                    vkf_embedding_module *out_module);

// Fails with UNSUPPORTED, naming the key, where a key is not in `known`, a list that ends with NULL.
VKF_MUST_CHECK vkf_status vkf__sentence_keys_known(const vkf__host *host, const char *path, const json_t *root,
                                                   const char *const *known);
// Fails with UNSUPPORTED where the key has a value other than `expected` or null.
VKF_MUST_CHECK vkf_status vkf__sentence_key_is(const vkf__host *host, const char *path, const json_t *root,
                                               const char *key, const char *expected);

#endif

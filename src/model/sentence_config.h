// config.json of sentence-transformers' modules.
#ifndef VKF_MODEL_SENTENCE_CONFIG_H
#define VKF_MODEL_SENTENCE_CONFIG_H

#include <jansson.h>

#include "model/sentence_modules.h"

// `root` is the file's object, or NULL where there is none; in_dim what the module is given. Fills *out_module.
// Statuses: FORMAT, UNSUPPORTED; both name file and key.
VKF_MUST_CHECK vkf_status vkf__sentence_config_read(const vkf__host *host, const char *path, const json_t *root,
                                                    vkf__sentence_module_kind kind, uint32_t in_dim,
                                                    vkf_embedding_module *out_module);

// UNSUPPORTED with the name of a key that is none of `known`, a list that ends with NULL.
VKF_MUST_CHECK vkf_status vkf__sentence_keys_known(const vkf__host *host, const char *path, const json_t *root,
                                                   const char *const *known);
// UNSUPPORTED where the key is there with a string other than `expected`, or something else that is no null.
VKF_MUST_CHECK vkf_status vkf__sentence_key_is(const vkf__host *host, const char *path, const json_t *root,
                                               const char *key, const char *expected);

#endif

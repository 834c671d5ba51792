// How generated texts begin, go on and end, from generation_config.json, or from config.json in older directories.
#ifndef VKF_MODEL_GENERATION_CONFIG_H
#define VKF_MODEL_GENERATION_CONFIG_H

#include <jansson.h>

#include "model/family/config.h"

// Reads which tokens end a text, are forced, or are banned. Where the file says nothing, `config` keeps what it has.
// Statuses: FORMAT, UNSUPPORTED (more than is built).
VKF_MUST_CHECK vkf_status vkf__read_generation(const vkf__host *host, const char *path, const json_t *root,
                                               vkf_model_config *config);

// Fills config->generation. A warning names each key that generate() would follow but that is not built.
// Statuses: FORMAT (names file, key and reason).
VKF_MUST_CHECK vkf_status vkf__read_generation_defaults(const vkf__host *host, const char *path, const json_t *root,
                                                        vkf_model_config *config);

#endif

// How texts begin, go on and end, as generation_config.json says it, or config.json, where it stood before.
#ifndef VKF_MODEL_GENERATION_CONFIG_H
#define VKF_MODEL_GENERATION_CONFIG_H

#include <jansson.h>

#include "model/config.h"

// The tokens: which ones end a text, are forced, or never come. What the file does not say, `config` keeps.
// Statuses: FORMAT, UNSUPPORTED (more than is built).
VKF_MUST_CHECK vkf_status vkf__read_generation(const vkf__host *host, const char *path, const json_t *root,
                                               vkf_model_config *config);

// config->generation. A key that generate() would follow, and that is not built, is named in a warning.
// Statuses: FORMAT (names file, key and reason).
VKF_MUST_CHECK vkf_status vkf__read_generation_defaults(const vkf__host *host, const char *path, const json_t *root,
                                                        vkf_model_config *config);

#endif

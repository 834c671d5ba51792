// config.json of a model directory, and the checks that every configuration passes.
#ifndef VKF_MODEL_CONFIG_H
#define VKF_MODEL_CONFIG_H

#include <vkformer/model.h>

#include "base/host.h"

// Statuses: FILE, FORMAT (names file, key and reason), UNSUPPORTED (another model_type), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__config_load(const vkf__host *host, const char *path, vkf_model_config *out_config);

// INVALID_ARGUMENT with the reason; `where` leads the message.
VKF_MUST_CHECK vkf_status vkf__config_check(const vkf__host *host, const vkf_model_config *config, const char *where);

#endif

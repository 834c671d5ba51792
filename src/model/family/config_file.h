// Reads config.json of a model directory.
#ifndef VKF_MODEL_CONFIG_FILE_H
#define VKF_MODEL_CONFIG_FILE_H

#include "model/family/family.h"

// *out_family becomes NULL for the project's own models, whose tensors have PyTorch's names.
// Statuses: FILE, FORMAT (names file, key and reason), UNSUPPORTED (another model_type), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__config_load(const vkf__host *host, const char *path, vkf_model_config *out_config,
                                           const vkf__family **out_family);

#endif

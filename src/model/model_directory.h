// What the files of a model's directory say beside its weights.
#ifndef VKF_MODEL_MODEL_DIRECTORY_H
#define VKF_MODEL_MODEL_DIRECTORY_H

#include "model/weights.h"

// config.json, of an ENCODER its pooling, of a DECODER generation_config.json: all of `out_source` but its checkpoint.
// Statuses: FILE, FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__model_directory_load(const vkf__host *host, const char *directory,
                                                    vkf__model_source *out_source);

#endif

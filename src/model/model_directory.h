// Reads the files of a model directory: what they say besides the weights, and then the checkpoints.
#ifndef VKF_MODEL_MODEL_DIRECTORY_H
#define VKF_MODEL_MODEL_DIRECTORY_H

#include "model/weights.h"

// Reads config.json, the modules that follow an ENCODER, and generation_config.json for a family that generates. Fills
// all of `out_source` but its checkpoints. Statuses: FILE, FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__model_directory_load(const vkf__host *host, const char *directory,
                                                    vkf__model_source *out_source);

// Opens the checkpoints of a source that was loaded, and settles the configuration by them: see vkf__source_settle().
// The caller calls vkf__model_source_close() whether this succeeds or not. Statuses are those of
// vkf__checkpoint_open().
VKF_MUST_CHECK vkf_status vkf__model_source_open(const vkf__host *host, const char *directory,
                                                 vkf__model_source *source);
// Whether there is anything to open. Statuses: FILE, FORMAT, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__model_has_weights(const vkf__host *host, const char *directory, bool *out_there);
void vkf__model_source_close(vkf__model_source *source);

#endif

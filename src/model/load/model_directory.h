// Reads the files of a model directory: what they say besides the weights, and then the checkpoints.
#ifndef VKF_MODEL_MODEL_DIRECTORY_H
#define VKF_MODEL_MODEL_DIRECTORY_H

#include "model/load/model_place.h"
#include "model/load/weights.h"

// Reads config.json, the modules that follow an ENCODER, and generation_config.json for a family that generates. Fills
// all of `out_source` but its checkpoints and its adapter. Statuses: FILE, FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__model_place_load(const vkf__host *host, const vkf__model_place *place,
                                                vkf__model_source *out_source);
// The same for a directory, whose adapter does not matter. Statuses also: those of vkf__model_place_find().
VKF_MUST_CHECK vkf_status vkf__model_directory_load(const vkf__host *host, const char *directory,
                                                    vkf__model_source *out_source);

// Opens the checkpoints of a source that was loaded, and settles the configuration by them: see vkf__source_settle().
// The caller calls vkf__model_source_close() whether this succeeds or not. Statuses are those of
// vkf__checkpoint_open().
VKF_MUST_CHECK vkf_status vkf__model_place_open(const vkf__host *host, const vkf__model_place *place,
                                                vkf__model_source *source);
void vkf__model_source_close(vkf__model_source *source);

#endif

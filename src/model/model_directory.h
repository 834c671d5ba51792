// What the files of a model's directory say beside its weights.
#ifndef VKF_MODEL_MODEL_DIRECTORY_H
#define VKF_MODEL_MODEL_DIRECTORY_H

#include "model/weights.h"

// config.json, of an ENCODER the modules behind it, of a family that generates generation_config.json: all of
// `out_source` but its checkpoints. Statuses: FILE, FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__model_directory_load(const vkf__host *host, const char *directory,
                                                    vkf__model_source *out_source);

// Opens the checkpoints of what was loaded, and settles the configuration by them: see vkf__source_settle().
// vkf__model_source_close() in either case. Statuses: as vkf__checkpoint_open().
VKF_MUST_CHECK vkf_status vkf__model_source_open(const vkf__host *host, const char *directory,
                                                 vkf__model_source *source);
void vkf__model_source_close(vkf__model_source *source);

#endif

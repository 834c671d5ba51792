// What a model's files say of it, by key.
#ifndef VKF_MODEL_MODEL_METADATA_H
#define VKF_MODEL_MODEL_METADATA_H

#include <jansson.h>

#include "io/checkpoint.h"

typedef struct vkf__model_metadata {
    json_t *config;  // config.json; NULL: the model came without
    json_t *weights; // the strings that its files of weights have beside the tensors; NULL: none
} vkf__model_metadata;

// `directory` may be NULL. Statuses: FILE, FORMAT, OUT_OF_HOST_MEMORY. What is there is released with
// vkf__model_metadata_free() in any case.
VKF_MUST_CHECK vkf_status vkf__model_metadata_load(const vkf__host *host, const char *directory,
                                                   const vkf__checkpoint *checkpoint,
                                                   vkf__model_metadata *out_metadata);
void vkf__model_metadata_free(vkf__model_metadata *metadata);

// The value of a key as vkf_model_get_metadata() finds it, which belongs to the metadata; NULL: there is none.
const json_t *vkf__model_metadata_find(const vkf__model_metadata *metadata, const char *key);

#endif

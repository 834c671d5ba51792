// The vkf_model object: a configuration and its weights on the device.
#ifndef VKF_MODEL_MODEL_H
#define VKF_MODEL_MODEL_H

#include "model/load/model_metadata.h"
#include "model/load/weights.h"

struct vkf_model {
    vkf_context *context;
    atomic_size_t references;  // one of the owner, and one of each session
    char *directory, *adapter; // that it came from, as the caller named them; NULL: none of the file system's
    vkf_model_config config;   // of a part, with its layers alone
    vkf__layer_part part;
    vkf_model_precision precision; // never AUTO
    vkf_dtype dtype;               // of activations
    uint64_t fingerprint;          // of a DECODER's weights and how they are kept: its caches are good for no other
    vkf__weights weights;
    vkf__model_metadata metadata;
};

// Take and give back a session's reference; the last one to go frees the model.
void vkf__model_hold(vkf_model *model);
void vkf__model_drop(vkf_model *model);

// Checks a caller's descriptor; `function` is for messages. Status INVALID_ARGUMENT.
VKF_MUST_CHECK vkf_status vkf__model_check(const vkf_context *context, const vkf_model_desc *desc,
                                           const char *function);

// The descriptor was checked by vkf__model_check(). Statuses are those of vkf_model_load().
VKF_MUST_CHECK vkf_status vkf__model_load(vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model);
VKF_MUST_CHECK vkf_status vkf__model_plan(vkf_context *context, const vkf_model_desc *desc, vkf_memory_plan *out_plan);
// Makes a model whose tensors have no buffers. It only serves to plan sessions.
VKF_MUST_CHECK vkf_status vkf__model_shape(vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model);

#endif

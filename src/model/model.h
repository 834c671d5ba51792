// The vkf_model object: a configuration and its weights on the device.
#ifndef VKF_MODEL_MODEL_H
#define VKF_MODEL_MODEL_H

#include "model/weights.h"

struct vkf_model {
    vkf_context *context;
    atomic_size_t references; // the owner's, and one of each session
    vkf_model_config config;
    vkf_dtype dtype; // of activations
    vkf__weights weights;
};

// A session's reference.
void vkf__model_hold(vkf_model *model);
void vkf__model_drop(vkf_model *model);

// Of a caller's descriptor; `function` is for messages. Status INVALID_ARGUMENT.
VKF_MUST_CHECK vkf_status vkf__model_check(const vkf_context *context, const vkf_model_desc *desc,
                                           const char *function);

// The descriptor was checked: a directory, or a configuration with a weights path; a known precision. Statuses as
// vkf_model_load().
VKF_MUST_CHECK vkf_status vkf__model_load(vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model);
VKF_MUST_CHECK vkf_status vkf__model_plan(vkf_context *context, const vkf_model_desc *desc, vkf_memory_plan *out_plan);
// A model whose tensors have no buffers: sessions are planned with it, and nothing else is.
VKF_MUST_CHECK vkf_status vkf__model_shape(vkf_context *context, const vkf_model_desc *desc, vkf_model **out_model);

#endif

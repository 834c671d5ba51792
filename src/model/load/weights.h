// How the parameters of a model come from its files to tensors on the device.
#ifndef VKF_MODEL_WEIGHTS_H
#define VKF_MODEL_WEIGHTS_H

#include "kernel/context.h"
#include "model/family/model_weights.h"

// Calls visit() for each of the tensors, absent ones too, of a model of this configuration.
void vkf__weights_visit(const vkf_model_config *config, vkf__weights *weights,
                        void (*visit)(void *user, vkf_tensor *tensor), void *user);

// The types of a model on the device.
typedef struct vkf__weight_storage {
    vkf_dtype activations;
    vkf_dtype weights;
    vkf_dtype linear; // for Linears' weights that fit blocks: a type of blocks, or the same as `weights`
    bool trainable;   // all in rows, with zeros between the tensors; the other members are F32
} vkf__weight_storage;

// Finds every tensor that the configuration asks for, checks its shape and type, converts and uploads it.
// Statuses: FORMAT (missing tensor, wrong shape or type, a number that is not finite), UNSUPPORTED (blocks of another
// kind, a classifier's file), FILE, CANCELLED, TOO_LARGE, and those of vkf_buffer_create().
VKF_MUST_CHECK vkf_status vkf__weights_load(vkf_context *context, const vkf__model_source *source,
                                            vkf__weight_storage storage, vkf__weights *out_weights);
void vkf__weights_free(vkf_context *context, vkf__weights *weights);

// Adds the sizes of the buffers that loading would allocate to plan->weights_bytes. The file's header was read already.
// out_shapes (may be NULL) gets the tensors as they would be, without buffers; vkf__weights_free() frees it.
VKF_MUST_CHECK vkf_status vkf__weights_plan(vkf_context *context, const vkf__model_source *source,
                                            vkf__weight_storage storage, vkf_memory_plan *plan,
                                            vkf__weights *out_shapes);

#endif

// The parameters of a model that a trainer changes: which they are, and beside each buffer of weights one of gradients
// of the same layout.
#ifndef VKF_TRAINING_PARAMETERS_H
#define VKF_TRAINING_PARAMETERS_H

#include "model/load/model.h"
#include "op/operand.h"

typedef struct vkf__parameter {
    const char *name; // in the file; a tensor that holds several parameters, as fused q, k and v, gives it to each
    vkf_tensor value; // a view of the model's buffer, whole
    // Absent where the parameter is frozen. `moments` has as many floats to each element as were asked for, side by
    // side; absent with none.
    vkf__span gradient, moments;
} vkf__parameter;

// Neighbours that train. What lies between two tensors are zeros in each of the three, and Adam and SGD leave them so.
typedef struct vkf__parameter_range {
    vkf__span value, gradient, moments;
    uint64_t count; // elements
} vkf__parameter_range;

typedef struct vkf__parameters {
    vkf_model *model;      // held
    vkf__parameter *items; // as the model lists them
    size_t count;
    // As the model's, but in buffers of gradients: views that are parts of one tensor, or tied, are so here too. Those
    // of frozen parameters have rank 0.
    vkf__weights gradients;
    // What an optimiser walks: few, each bound at once with its moments where the device binds so much.
    vkf__parameter_range *ranges;
    size_t range_count;
    uint32_t moments;            // floats per element
    vkf_buffer **moment_buffers; // gradients.buffer_count
    vkf_buffer *added;           // values of what is not the model's
    uint64_t added_bytes;
    vkf_buffer *stand_ins; // of vkf__parameters_shape(): all those buffers
} vkf__parameters;

// `patterns` say by their names which parameters train; NULL: all. `moments` is 0, 1 or 2. Gradients and moments are
// zeros. Statuses: INVALID_ARGUMENT (the model is not trainable, or nothing has a pattern's name: the message says
// which are near), TOO_LARGE, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__parameters_create(vkf_model *model, const char *const *patterns, size_t pattern_count,
                                                 uint32_t moments, vkf__parameters *out_parameters);
void vkf__parameters_free(vkf__parameters *parameters);

// The same without memory: buffers that a plan tells apart, and nothing more.
VKF_MUST_CHECK vkf_status vkf__parameters_shape(vkf_model *model, const char *const *patterns, size_t pattern_count,
                                                uint32_t moments, vkf__parameters *out_parameters);

#define VKF_ADDED_BUFFERS 3 // values, gradients, moments

// A matrix that trains beside the model's parameters, and begins as zeros. Its name lives as long as they.
typedef struct vkf__added_parameter {
    const char *name;
    uint32_t rows, cols;
} vkf__added_parameter;
// Adds such matrices, once, behind the items and ranges that are there. `shape`: without memory. Statuses: TOO_LARGE,
// OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_MUST_CHECK vkf_status vkf__parameters_add(vkf__parameters *parameters, const vkf__added_parameter *added,
                                              size_t count, bool shape);
// Adds to plan->weights_bytes what these take.
VKF_MUST_CHECK vkf_status vkf__parameters_plan_added(const vkf__parameters *parameters, vkf_memory_plan *plan);

// Adds what that would allocate to plan->weights_bytes. The model may be one that vkf__model_shape() made.
VKF_MUST_CHECK vkf_status vkf__parameters_plan(const vkf_model *model, const char *const *patterns,
                                               size_t pattern_count, uint32_t moments, vkf_memory_plan *plan);

#endif

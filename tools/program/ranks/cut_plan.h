// What the parts of a model take on a device, as its exact plan says.
#ifndef VKF_PROGRAM_CUT_PLAN_H
#define VKF_PROGRAM_CUT_PLAN_H

#include <vkformer/vkformer.h>

#include "ranks/layer_cut.h"

typedef struct vkf_cut_plan {
    vkf_context *context;
    const vkf_model_desc *model;     // one that generates
    const vkf_session_desc *session; // of each batch that is under way
    uint32_t batches;
    uint32_t encoder_layers, decoder_layers; // of the model
} vkf_cut_plan;

// Reads headers only. Statuses: those of vkf_model_plan_session().
VKF_MUST_CHECK vkf_status vkf_cut_plan_parts(const vkf_cut_plan *plan, vkf_cut_model *out_model);

// The largest heap that is the device's own.
uint64_t vkf_cut_memory(const vkf_device_info *info);

#endif

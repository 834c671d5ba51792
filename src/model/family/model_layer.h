// The layers of a model as the blocks that emitters take.
#ifndef VKF_MODEL_MODEL_LAYER_H
#define VKF_MODEL_MODEL_LAYER_H

#include "layer/transformer_layer.h"
#include "model/family/model_weights.h"

// Which layer, and what is its caller's.
typedef struct vkf__model_layer {
    bool target; // of the decoder
    uint32_t index;
    vkf_attention_mask self_mask; // of a family's window no part
    vkf_attention_mask cross_mask;
    vkf_fully_masked fully_masked;
    vkf__span rotary, window_rotary; // absent where the model has none
} vkf__model_layer;

// Activations have `dtype`.
vkf__transformer_block vkf__model_layer_block(const vkf_model_config *config, vkf_dtype dtype,
                                              const vkf__weights *weights, const vkf__model_layer *layer);

#endif

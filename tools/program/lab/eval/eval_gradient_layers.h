// Encoder and decoder layers of cases of gradients, on their own or in a stack.
#ifndef VKF_PROGRAM_EVAL_GRADIENT_LAYERS_H
#define VKF_PROGRAM_EVAL_GRADIENT_LAYERS_H

#include "lab/eval/eval_gradient.h"
#include "training/layers.h"

typedef struct vkf_eval_mask_spans {
    vkf_attention_mask desc;
    vkf__span mask, key_mask;
} vkf_eval_mask_spans;
VKF_MUST_CHECK vkf_status vkf__eval_gradient_masks(vkf_eval_gradients *g, const char *mask, const char *key_mask,
                                                   const vkf_eval_attention_sizes *sizes, vkf_eval_mask_spans *out);

typedef struct vkf_eval_layer {
    uint32_t batch, queries, keys; // keys 0: an encoder layer
    vkf_eval_mask_spans self, cross;
    vkf__transformer_block block;
    vkf__transformer_gradients gradients;
} vkf_eval_layer;

// Reads the parameters, whose names begin with `prefix`, into a layer that has its lengths and masks.
VKF_MUST_CHECK vkf_status vkf__eval_gradient_layer(vkf_eval_gradients *g, const char *prefix,
                                                   const vkf_eval_architecture *architecture, vkf_eval_layer *layer);
VKF_MUST_CHECK vkf_status vkf__eval_state_layer(vkf_eval_gradients *g, const vkf_eval_layer *layer, vkf__value x,
                                                vkf__value memory, vkf__value *out_value);

#endif

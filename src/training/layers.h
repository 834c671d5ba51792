// Transformer layers on a tape: what layer/ emits for inference, stated so that it can be gone back over. What nobody
// asks a gradient of is absent among the gradients, which have the parameters' shapes.
#ifndef VKF_TRAINING_LAYERS_H
#define VKF_TRAINING_LAYERS_H

#include "layer/transformer_layer.h"
#include "training/statements.h"

// Values that a layer reads. The masks are as in vkf__attention_io.
typedef struct vkf__attention_operands {
    vkf__value query, key, value; // (B * L, embed_dim), (B * S, kdim), (B * S, vdim)
    vkf__span mask, key_mask;
} vkf__attention_operands;

// A block of no cache, rotary embedding or norm of heads.
VKF_MUST_CHECK vkf_status vkf__state_attention_block(vkf__tape *tape, const vkf__attention_block *block,
                                                     const vkf__attention_spans *gradients,
                                                     const vkf__attention_operands *operands,
                                                     const vkf__attention_sizes *sizes, vkf__value *out_value);

// Of a transformer block the gradients of its parameters.
typedef struct vkf__transformer_gradients {
    vkf__attention_spans self, cross;
    vkf__span gate, gate_bias, weight1, bias1, weight2, bias2;
    vkf__norm_block norm[3];
} vkf__transformer_gradients;

typedef struct vkf__transformer_operands {
    vkf__value x;      // (B * L, d_model)
    vkf__value memory; // (B * S, d_model); absent in an encoder layer
    vkf__span mask, key_mask, memory_mask, memory_key_mask;
} vkf__transformer_operands;

// An encoder layer, or with memory a decoder layer.
VKF_MUST_CHECK vkf_status vkf__state_transformer_layer(vkf__tape *tape, const vkf__transformer_block *block,
                                                       const vkf__transformer_gradients *gradients,
                                                       const vkf__transformer_operands *operands,
                                                       const vkf__attention_sizes *self,
                                                       const vkf__attention_sizes *cross, vkf__value *out_value);

#endif

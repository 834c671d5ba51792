// Transformer layers on a tape: what layer/ emits for inference, recorded so that it can be gone back over. What nobody
// asks a gradient of is absent among the gradients, which have the parameters' shapes.
#ifndef VKF_TRAINING_LAYERS_H
#define VKF_TRAINING_LAYERS_H

#include "layer/transformer_layer.h"
#include "training/records.h"

// Values that a layer reads. The masks are as in vkf__attention_io.
typedef struct vkf__attention_operands {
    vkf__value query, key, value; // (B * L, embed_dim), (B * S, kdim), (B * S, vdim)
    vkf__span mask, key_mask;
    vkf__dropout_state dropout; // of the weights
    vkf__score_bias bias;       // of blocks without a mask
} vkf__attention_operands;

typedef struct vkf__attention_gradients {
    vkf__attention_spans params;
    vkf__span q_norm, k_norm;
} vkf__attention_gradients;

// A block without a cache.
VKF_MUST_CHECK vkf_status vkf__record_attention_block(vkf__tape *tape, const vkf__attention_block *block,
                                                      const vkf__attention_gradients *gradients,
                                                      const vkf__attention_operands *operands,
                                                      const vkf__attention_sizes *sizes, vkf__value *out_value);

// The gradients of a transformer block's parameters.
typedef struct vkf__transformer_gradients {
    vkf__attention_gradients self, cross;
    vkf__span gate, gate_bias, weight1, bias1, weight2, bias2;
    vkf__norm_block norm[3];
} vkf__transformer_gradients;

// Those of a block whose parameters are the gradients of another's.
vkf__transformer_gradients vkf__transformer_gradients_of(const vkf__transformer_block *block);

// What is left out of a layer at random: of the results of its blocks, of attention's weights, and of what the
// activation gives.
typedef struct vkf__layer_dropout {
    float residual, attention, activation;
    uint64_t seed;
    uint32_t stream; // the first of VKF_LAYER_STREAMS
    uint32_t step;
} vkf__layer_dropout;
#define VKF_LAYER_STREAMS 8u

typedef struct vkf__transformer_operands {
    vkf__value x;      // (B * L, d_model)
    vkf__value memory; // (B * S, d_model); absent in an encoder layer
    vkf__span mask, key_mask, memory_mask, memory_key_mask;
    vkf__layer_dropout dropout;
    vkf__score_bias bias; // of self attention
} vkf__transformer_operands;

// An encoder layer, or with memory a decoder layer.
VKF_MUST_CHECK vkf_status vkf__record_transformer_layer(vkf__tape *tape, const vkf__transformer_block *block,
                                                        const vkf__transformer_gradients *gradients,
                                                        const vkf__transformer_operands *operands,
                                                        const vkf__attention_sizes *self,
                                                        const vkf__attention_sizes *cross, vkf__value *out_value);

#endif

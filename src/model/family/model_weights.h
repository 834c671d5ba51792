// The parameters of a model: as tensors on the device, and what they are loaded from.
#ifndef VKF_MODEL_MODEL_WEIGHTS_H
#define VKF_MODEL_MODEL_WEIGHTS_H

#include "io/checkpoint.h"
#include "model/family/config.h"
#include "model/family/layer_part.h"

typedef struct vkf__linear_weights {
    vkf_tensor weight; // (out, in)
    vkf_tensor bias;   // optional, (out)
} vkf__linear_weights;

typedef struct vkf__layer_weights {
    vkf_attention_weights self;
    vkf_attention_weights cross; // decoder layers
    vkf_tensor q_norm, k_norm;   // optional, (head_dim)
    vkf__linear_weights gate;    // optional, (dim_feedforward, d_model)
    bool fused_qkv, fused_gate;  // these weights are one operand, and so are their biases: see weight_fusion.h
    vkf_feed_forward_weights feed_forward;
    vkf_norm_weights norm[3];
} vkf__layer_weights;

// What one side of a model has around its layers.
typedef struct vkf__stack_weights {
    vkf_tensor positions;            // (position_offset + max_len, d_model) f32, if they are learned
    vkf_norm_weights embedding_norm; // optional
    vkf_norm_weights final_norm;     // optional
    vkf_tensor relative_bias;        // optional, (relative_buckets, heads) f32
} vkf__stack_weights;

struct vkf__trainable;

typedef struct vkf__weights {
    vkf__layer_weights *encoder; // num_encoder_layers
    vkf__layer_weights *decoder;
    vkf__stack_weights source;      // around the encoder
    vkf__stack_weights target;      // around the decoder
    vkf_tensor source_embedding;    // (source_vocab, d_model), SEQ2SEQ and ENCODER
    vkf_tensor token_types;         // (token_types, d_model), ENCODER with them
    vkf__linear_weights head_dense; // of an ENCODER's head, if it has one
    vkf_norm_weights head_norm;
    vkf__linear_weights modules[VKF_MAX_EMBEDDING_MODULES]; // f32, of the embedding modules that have weights
    vkf_tensor target_embedding;                            // may be source_embedding's view
    vkf_tensor projection;      // (target_vocab, d_model), may be an embedding's view; a head's (head_outputs, d_model)
    vkf_tensor projection_bias; // optional, (target_vocab)
    vkf_buffer **buffers;       // owned; the tensors above are views of them
    size_t buffer_count;
    struct vkf__trainable *trainable; // what can be trained (weight_names.h); NULL: the model was not loaded for that
    size_t trainable_count;
} vkf__weights;

#define VKF_MODULE_FOLDER_MAX 64

// An embedding module's own directory.
typedef struct vkf__module_source {
    char folder[VKF_MODULE_FOLDER_MAX]; // relative to the model's directory
    vkf__checkpoint *checkpoint;        // NULL: it has no weights
} vkf__module_source;

typedef struct vkf__adapter vkf__adapter;
typedef struct vkf__family vkf__family;

// What a model is loaded from.
typedef struct vkf__model_source {
    vkf_model_config config; // of a part, with its layers alone
    vkf__layer_part part;
    const vkf__family *family;   // NULL: PyTorch's names
    vkf__checkpoint *checkpoint; // NULL: a plan takes the parameters to be as the configuration asks for
    vkf__adapter *adapter;       // NULL: none
    vkf__module_source modules[VKF_MAX_EMBEDDING_MODULES]; // of config.embedding_modules
    vkf_progress_fn progress;                              // optional, for loading
    void *progress_user;
} vkf__model_source;

#endif

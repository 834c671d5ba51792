// What Llama and the families that descend from it share: the members of a vkf__family that name tensors and keys.
#ifndef VKF_MODEL_FAMILY_LLAMA_H
#define VKF_MODEL_FAMILY_LLAMA_H

#include "model/family/families.h"

#define VKF_WEIGHTS_LIKE_LLAMA                                                                                   \
    [VKF_WEIGHT_WORDS] = "embed_tokens.weight", [VKF_WEIGHT_FINAL_NORM_WEIGHT] = "norm.weight",                  \
    [VKF_WEIGHT_PROJECTION] = "lm_head.weight", [VKF_WEIGHT_Q] = "self_attn.q_proj.weight",                      \
    [VKF_WEIGHT_K] = "self_attn.k_proj.weight", [VKF_WEIGHT_V] = "self_attn.v_proj.weight",                      \
    [VKF_WEIGHT_OUT] = "self_attn.o_proj.weight", [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = "input_layernorm.weight", \
    [VKF_WEIGHT_GATE] = "mlp.gate_proj.weight", [VKF_WEIGHT_FEED_FORWARD_1] = "mlp.up_proj.weight",              \
    [VKF_WEIGHT_FEED_FORWARD_2] = "mlp.down_proj.weight",                                                        \
    [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = "post_attention_layernorm.weight"

#define VKF_BIASES_LIKE_LLAMA                                                                     \
    [VKF_WEIGHT_Q_BIAS] = "self_attn.q_proj.bias", [VKF_WEIGHT_K_BIAS] = "self_attn.k_proj.bias", \
    [VKF_WEIGHT_V_BIAS] = "self_attn.v_proj.bias"

#define VKF_KEYS_LIKE_LLAMA                                                                               \
    .d_model = "hidden_size", .num_heads = "num_attention_heads", .dim_feedforward = "intermediate_size", \
    .num_layers = "num_hidden_layers", .activation = "hidden_act", .vocab = "vocab_size",                 \
    .max_positions = "max_position_embeddings", .layer_norm_eps = "rms_norm_eps",                         \
    .num_kv_heads = "num_key_value_heads", .head_dim = "head_dim", .rotary_theta = "rope_theta"

#define VKF_CONFIG_LIKE_LLAMA                                                                               \
    .kind = VKF_MODEL_DECODER, .norm_first = true, .norm = VKF_NORM_RMS, .gated = true, .final_norm = true, \
    .positions = VKF_POSITIONS_NONE, .d_model = 4096, .num_heads = 32, .num_decoder_layers = 32,            \
    .activation = VKF_ACTIVATION_SILU, .layer_norm_eps = 1e-6f, .pad_id = -1

// Llama and Mistral have default token ids; the other families have none.
#define VKF_TOKENS_LIKE_LLAMA .bos_id = 1, .eos_id = 2, .eos_ids = {2}, .eos_count = 1
#define VKF_NO_TOKENS .bos_id = -1, .eos_id = -1

// Heads that are one Linear after the last layer. They classify a sequence by its last token, or each token.
#define VKF_HEADS_OF_DECODER(class, token_head)                                                                     \
    {                                                                                                               \
        .architecture = class "ForSequenceClassification",                                                          \
        .head = VKF_HEAD_SEQUENCE_CLASSIFICATION,                                                                   \
        .weights = {[VKF_HEAD_PROJECTION] = "score.weight"},                                                        \
        .pooling = VKF_POOLING_LAST,                                                                                \
    },                                                                                                              \
    {                                                                                                               \
        .architecture = class "ForTokenClassification", .head = VKF_HEAD_TOKEN_CLASSIFICATION,                      \
        .weights = {[VKF_HEAD_PROJECTION] = token_head ".weight", [VKF_HEAD_PROJECTION_BIAS] = token_head ".bias"}, \
    }

#define VKF_FAMILY_LIKE_LLAMA .base = "model.", .layer = "layers.", .rotary_theta = 1e4f, .rotary_part = 1.0f

#endif

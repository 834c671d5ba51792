// What BART and Marian share: the members of a vkf__family that name tensors and keys.
#ifndef VKF_MODEL_FAMILY_BART_H
#define VKF_MODEL_FAMILY_BART_H

#include "model/family/families.h"

#define VKF_WEIGHTS_LIKE_BART                                                                                         \
    [VKF_WEIGHT_Q] = "self_attn.q_proj.weight", [VKF_WEIGHT_K] = "self_attn.k_proj.weight",                           \
    [VKF_WEIGHT_V] = "self_attn.v_proj.weight", [VKF_WEIGHT_Q_BIAS] = "self_attn.q_proj.bias",                        \
    [VKF_WEIGHT_K_BIAS] = "self_attn.k_proj.bias", [VKF_WEIGHT_V_BIAS] = "self_attn.v_proj.bias",                     \
    [VKF_WEIGHT_OUT] = "self_attn.out_proj.weight", [VKF_WEIGHT_OUT_BIAS] = "self_attn.out_proj.bias",                \
    [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = "self_attn_layer_norm.weight",                                               \
    [VKF_WEIGHT_ATTENTION_NORM_BIAS] = "self_attn_layer_norm.bias", [VKF_WEIGHT_FEED_FORWARD_1] = "fc1.weight",       \
    [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = "fc1.bias", [VKF_WEIGHT_FEED_FORWARD_2] = "fc2.weight",                        \
    [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = "fc2.bias", [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = "final_layer_norm.weight", \
    [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = "final_layer_norm.bias"

#define VKF_CROSS_LIKE_BART                                                                                         \
    [VKF_WEIGHT_CROSS_Q] = "encoder_attn.q_proj.weight", [VKF_WEIGHT_CROSS_K] = "encoder_attn.k_proj.weight",       \
    [VKF_WEIGHT_CROSS_V] = "encoder_attn.v_proj.weight", [VKF_WEIGHT_CROSS_Q_BIAS] = "encoder_attn.q_proj.bias",    \
    [VKF_WEIGHT_CROSS_K_BIAS] = "encoder_attn.k_proj.bias", [VKF_WEIGHT_CROSS_V_BIAS] = "encoder_attn.v_proj.bias", \
    [VKF_WEIGHT_CROSS_OUT] = "encoder_attn.out_proj.weight",                                                        \
    [VKF_WEIGHT_CROSS_OUT_BIAS] = "encoder_attn.out_proj.bias",                                                     \
    [VKF_WEIGHT_CROSS_NORM_WEIGHT] = "encoder_attn_layer_norm.weight",                                              \
    [VKF_WEIGHT_CROSS_NORM_BIAS] = "encoder_attn_layer_norm.bias"

#define VKF_MODEL_WEIGHTS_LIKE_BART                                                   \
    [VKF_WEIGHT_WORDS] = "shared.weight", [VKF_WEIGHT_PROJECTION] = "lm_head.weight", \
    [VKF_WEIGHT_TARGET_WORDS] = "decoder.embed_tokens.weight", [VKF_WEIGHT_PROJECTION_BIAS] = "final_logits_bias"

#define VKF_KEYS_LIKE_BART                                                                              \
    .d_model = "d_model", .num_heads = "encoder_attention_heads", .dim_feedforward = "encoder_ffn_dim", \
    .num_layers = "encoder_layers", .activation = "activation_function", .vocab = "vocab_size",         \
    .max_positions = "max_position_embeddings", .decoder_layers = "decoder_layers",                     \
    .decoder_heads = "decoder_attention_heads", .decoder_feed_forward = "decoder_ffn_dim",              \
    .scaled_embedding = "scale_embedding"

#define VKF_CONFIG_LIKE_BART                                                                               \
    .kind = VKF_MODEL_SEQ2SEQ, .layer_norm_eps = 1e-5f, .attention_bias = true, .feed_forward_bias = true, \
    .norm_bias = true, .tie_projection = true, .projection_bias = true, .unscaled_embedding = true

#define VKF_FAMILY_LIKE_BART                                                                               \
    .base = "model.", .layer = "encoder.layers.", .decoder_layer = "decoder.layers.", .bias_as_row = true, \
    .other_embeddings = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"},                    \
    .own_words = "encoder.embed_tokens.weight"

#endif

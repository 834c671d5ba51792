// What BERT and the families that descend from it share: the members of a vkf__family that name tensors and keys.
#ifndef VKF_MODEL_FAMILY_BERT_H
#define VKF_MODEL_FAMILY_BERT_H

#include "model/family/families.h"

// All biases are there, and a masked LM's projection is the token embedding.
#define VKF_CONFIG_LIKE_BERT                                                                                      \
    .kind = VKF_MODEL_ENCODER, .attention_bias = true, .feed_forward_bias = true, .norm_bias = true,              \
    .head_dense_bias = true, .projection_bias = true, .tie_projection = true, .positions = VKF_POSITIONS_LEARNED, \
    .d_model = 768, .num_heads = 12, .dim_feedforward = 3072, .num_encoder_layers = 12,                           \
    .activation = VKF_ACTIVATION_GELU_ERF, .max_source_len = 512, .token_types = 2, .layer_norm_eps = 1e-12f

// Heads that are one Linear, applied to every position.
#define VKF_HEADS_PER_TOKEN(class)                                                                                \
    {                                                                                                             \
        .architecture = class "ForTokenClassification",                                                           \
        .head = VKF_HEAD_TOKEN_CLASSIFICATION,                                                                    \
        .weights = {[VKF_HEAD_PROJECTION] = "classifier.weight", [VKF_HEAD_PROJECTION_BIAS] = "classifier.bias"}, \
    },                                                                                                            \
    {                                                                                                             \
        .architecture = class "ForQuestionAnswering", .head = VKF_HEAD_QUESTION_ANSWERING,                        \
        .weights = {[VKF_HEAD_PROJECTION] = "qa_outputs.weight", [VKF_HEAD_PROJECTION_BIAS] = "qa_outputs.bias"}, \
    }

#define VKF_FAMILY_LIKE_BERT                                                          \
    .layer = "encoder.layer.",                                                        \
    .weights =                                                                        \
        {                                                                             \
            [VKF_WEIGHT_WORDS] = "embeddings.word_embeddings.weight",                 \
            [VKF_WEIGHT_POSITIONS] = "embeddings.position_embeddings.weight",         \
            [VKF_WEIGHT_TYPES] = "embeddings.token_type_embeddings.weight",           \
            [VKF_WEIGHT_EMBEDDING_NORM_WEIGHT] = "embeddings.LayerNorm.weight",       \
            [VKF_WEIGHT_EMBEDDING_NORM_BIAS] = "embeddings.LayerNorm.bias",           \
            [VKF_WEIGHT_Q] = "attention.self.query.weight",                           \
            [VKF_WEIGHT_K] = "attention.self.key.weight",                             \
            [VKF_WEIGHT_V] = "attention.self.value.weight",                           \
            [VKF_WEIGHT_Q_BIAS] = "attention.self.query.bias",                        \
            [VKF_WEIGHT_K_BIAS] = "attention.self.key.bias",                          \
            [VKF_WEIGHT_V_BIAS] = "attention.self.value.bias",                        \
            [VKF_WEIGHT_OUT] = "attention.output.dense.weight",                       \
            [VKF_WEIGHT_OUT_BIAS] = "attention.output.dense.bias",                    \
            [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = "attention.output.LayerNorm.weight", \
            [VKF_WEIGHT_ATTENTION_NORM_BIAS] = "attention.output.LayerNorm.bias",     \
            [VKF_WEIGHT_FEED_FORWARD_1] = "intermediate.dense.weight",                \
            [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = "intermediate.dense.bias",             \
            [VKF_WEIGHT_FEED_FORWARD_2] = "output.dense.weight",                      \
            [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = "output.dense.bias",                   \
            [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = "output.LayerNorm.weight",        \
            [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = "output.LayerNorm.bias",            \
    },                                                                                \
    .keys =                                                                           \
        {                                                                             \
            .d_model = "hidden_size",                                                 \
            .num_heads = "num_attention_heads",                                       \
            .dim_feedforward = "intermediate_size",                                   \
            .num_layers = "num_hidden_layers",                                        \
            .activation = "hidden_act",                                               \
            .vocab = "vocab_size",                                                    \
            .max_positions = "max_position_embeddings",                               \
            .token_types = "type_vocab_size",                                         \
            .layer_norm_eps = "layer_norm_eps",                                       \
            .causal = "is_decoder",                                                   \
    },                                                                                \
    .demands = {{"position_embedding_type", "absolute"}, {"add_cross_attention", "false"}}

#endif

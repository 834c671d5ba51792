// DistilBERT (Sanh et al. 2019): BERT with half the layers and no token types.
#include "model/family/family_bert.h"

static const vkf__family_head heads[] = {
    VKF_HEADS_PER_TOKEN("DistilBert"),
    {
        .architecture = "DistilBertForSequenceClassification",
        .head = VKF_HEAD_SEQUENCE_CLASSIFICATION,
        .weights =
            {
                [VKF_HEAD_DENSE] = "pre_classifier.weight",
                [VKF_HEAD_DENSE_BIAS] = "pre_classifier.bias",
                [VKF_HEAD_PROJECTION] = "classifier.weight",
                [VKF_HEAD_PROJECTION_BIAS] = "classifier.bias",
            },
        .pooling = VKF_POOLING_FIRST,
        .activation = VKF_ACTIVATION_RELU,
    },
    {
        .architecture = "DistilBertForMaskedLM",
        .head = VKF_HEAD_MASKED_LM,
        .weights =
            {
                [VKF_HEAD_DENSE] = "vocab_transform.weight",
                [VKF_HEAD_DENSE_BIAS] = "vocab_transform.bias",
                [VKF_HEAD_NORM_WEIGHT] = "vocab_layer_norm.weight",
                [VKF_HEAD_NORM_BIAS] = "vocab_layer_norm.bias",
                [VKF_HEAD_PROJECTION] = "vocab_projector.weight",
                [VKF_HEAD_PROJECTION_BIAS] = "vocab_projector.bias",
            },
        .activation_key = "activation",
    },
    {0},
};

const vkf__family vkf__family_distilbert = {
    .model_types = {"distilbert"},
    .base = "distilbert.",
    .heads = heads,
    .layer = "transformer.layer.",
    .config =
        {
            .kind = VKF_MODEL_ENCODER,
            .layer_norm_eps = 1e-12f,
            .attention_bias = true,
            .feed_forward_bias = true,
            .norm_bias = true,
            .head_dense_bias = true,
            .projection_bias = true,
            .tie_projection = true,
            .positions = VKF_POSITIONS_LEARNED,
            .d_model = 768,
            .num_heads = 12,
            .dim_feedforward = 3072,
            .num_encoder_layers = 6,
            .activation = VKF_ACTIVATION_GELU_ERF,
            .source_vocab = 30522,
            .max_source_len = 512,
        },
    .weights =
        {
            [VKF_WEIGHT_WORDS] = "embeddings.word_embeddings.weight",
            [VKF_WEIGHT_POSITIONS] = "embeddings.position_embeddings.weight",
            [VKF_WEIGHT_EMBEDDING_NORM_WEIGHT] = "embeddings.LayerNorm.weight",
            [VKF_WEIGHT_EMBEDDING_NORM_BIAS] = "embeddings.LayerNorm.bias",
            [VKF_WEIGHT_Q] = "attention.q_lin.weight",
            [VKF_WEIGHT_K] = "attention.k_lin.weight",
            [VKF_WEIGHT_V] = "attention.v_lin.weight",
            [VKF_WEIGHT_Q_BIAS] = "attention.q_lin.bias",
            [VKF_WEIGHT_K_BIAS] = "attention.k_lin.bias",
            [VKF_WEIGHT_V_BIAS] = "attention.v_lin.bias",
            [VKF_WEIGHT_OUT] = "attention.out_lin.weight",
            [VKF_WEIGHT_OUT_BIAS] = "attention.out_lin.bias",
            [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = "sa_layer_norm.weight",
            [VKF_WEIGHT_ATTENTION_NORM_BIAS] = "sa_layer_norm.bias",
            [VKF_WEIGHT_FEED_FORWARD_1] = "ffn.lin1.weight",
            [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = "ffn.lin1.bias",
            [VKF_WEIGHT_FEED_FORWARD_2] = "ffn.lin2.weight",
            [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = "ffn.lin2.bias",
            [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = "output_layer_norm.weight",
            [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = "output_layer_norm.bias",
        },
    .keys =
        {
            .d_model = "dim",
            .num_heads = "n_heads",
            .dim_feedforward = "hidden_dim",
            .num_layers = "n_layers",
            .activation = "activation",
            .vocab = "vocab_size",
            .max_positions = "max_position_embeddings",
        },
};

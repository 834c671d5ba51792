// ModernBERT (Warner et al. 2024), transformers' ModernBertModel: pre-norm, rotary positions, gated feed-forward, and a
// window in most layers.
#include "model/family/families.h"

// Every head begins with the same block.
#define HEAD(class, kind, projection, bias)                                                                          \
    {                                                                                                                \
        .architecture = "ModernBertFor" class, .head = kind,                                                         \
        .weights = {"head.dense.weight", "head.dense.bias", "head.norm.weight", "head.norm.bias", projection, bias}, \
        .activation_key = "classifier_activation", .pooling_key = "classifier_pooling",                              \
        .activation = VKF_ACTIVATION_GELU_ERF, .pooling = VKF_POOLING_FIRST,                                         \
    }

static const vkf__family_head heads[] = {
    HEAD("SequenceClassification", VKF_HEAD_SEQUENCE_CLASSIFICATION, "classifier.weight", "classifier.bias"),
    HEAD("TokenClassification", VKF_HEAD_TOKEN_CLASSIFICATION, "classifier.weight", "classifier.bias"),
    HEAD("QuestionAnswering", VKF_HEAD_QUESTION_ANSWERING, "classifier.weight", "classifier.bias"),
    HEAD("MaskedLM", VKF_HEAD_MASKED_LM, "decoder.weight", "decoder.bias"),
    {0},
};

const vkf__family vkf__family_modernbert = {
    .model_types = {"modernbert"},
    .base = "model.",
    .layer = "layers.",
    .heads = heads,
    .qkv = VKF_FUSED,
    .gate_fused = true,
    .config =
        {
            .kind = VKF_MODEL_ENCODER,
            .norm_first = true,
            .no_first_norm = true,
            .final_norm = true,
            .gated = true,
            .positions = VKF_POSITIONS_NONE,
            .tie_projection = true,
            .projection_bias = true,
            .d_model = 768,
            .num_heads = 12,
            .dim_feedforward = 1152,
            .num_encoder_layers = 22,
            .activation = VKF_ACTIVATION_GELU_ERF,
            .layer_norm_eps = 1e-5f,
            .source_vocab = 50368,
            .max_source_len = 8192,
            .window = 128,
            .pad_id = 50283,
        },
    .weights =
        {
            [VKF_WEIGHT_WORDS] = "embeddings.tok_embeddings.weight",
            [VKF_WEIGHT_EMBEDDING_NORM_WEIGHT] = "embeddings.norm.weight",
            [VKF_WEIGHT_EMBEDDING_NORM_BIAS] = "embeddings.norm.bias",
            [VKF_WEIGHT_FINAL_NORM_WEIGHT] = "final_norm.weight",
            [VKF_WEIGHT_FINAL_NORM_BIAS] = "final_norm.bias",
            [VKF_WEIGHT_Q] = "attn.Wqkv.weight",
            [VKF_WEIGHT_K] = "attn.Wqkv.weight",
            [VKF_WEIGHT_V] = "attn.Wqkv.weight",
            [VKF_WEIGHT_Q_BIAS] = "attn.Wqkv.bias",
            [VKF_WEIGHT_K_BIAS] = "attn.Wqkv.bias",
            [VKF_WEIGHT_V_BIAS] = "attn.Wqkv.bias",
            [VKF_WEIGHT_OUT] = "attn.Wo.weight",
            [VKF_WEIGHT_OUT_BIAS] = "attn.Wo.bias",
            [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = "attn_norm.weight",
            [VKF_WEIGHT_ATTENTION_NORM_BIAS] = "attn_norm.bias",
            [VKF_WEIGHT_GATE] = "mlp.Wi.weight",
            [VKF_WEIGHT_FEED_FORWARD_1] = "mlp.Wi.weight",
            [VKF_WEIGHT_GATE_BIAS] = "mlp.Wi.bias",
            [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = "mlp.Wi.bias",
            [VKF_WEIGHT_FEED_FORWARD_2] = "mlp.Wo.weight",
            [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = "mlp.Wo.bias",
            [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = "mlp_norm.weight",
            [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = "mlp_norm.bias",
        },
    .keys =
        {
            .d_model = "hidden_size",
            .num_heads = "num_attention_heads",
            .dim_feedforward = "intermediate_size",
            .num_layers = "num_hidden_layers",
            .activation = "hidden_activation",
            .vocab = "vocab_size",
            .max_positions = "max_position_embeddings",
            .layer_norm_eps = "norm_eps",
            .window = "local_attention",
            .full_every = "global_attn_every_n_layers",
            .attention_bias = "attention_bias",
            .feed_forward_bias = "mlp_bias",
            .norm_bias = "norm_bias",
            .head_dense_bias = "classifier_bias",
            .projection_bias = "decoder_bias",
            .rotary_theta = "global_rope_theta",
            .window_rotary_theta = "local_rope_theta",
        },
    .rotary_theta = 1.6e5f,
    .rotary_part = 1.0f,
    .window_rotary_theta = 1e4f,
    .full_every = 3,
};

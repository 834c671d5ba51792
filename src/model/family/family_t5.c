// T5 and FLAN-T5 (Raffel et al. 2020, Chung et al. 2022), transformers' T5ForConditionalGeneration: RMSNorm before each
// block, no biases, and unscaled attention scores with a learned bias by distance instead of positions.
#include "model/family/families.h"

#define NAMES(feed_forward)                                                                                 \
    [VKF_WEIGHT_Q] = "layer.0.SelfAttention.q.weight", [VKF_WEIGHT_K] = "layer.0.SelfAttention.k.weight",   \
    [VKF_WEIGHT_V] = "layer.0.SelfAttention.v.weight", [VKF_WEIGHT_OUT] = "layer.0.SelfAttention.o.weight", \
    [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = "layer.0.layer_norm.weight",                                       \
    [VKF_WEIGHT_GATE] = feed_forward ".DenseReluDense.wi_0.weight",                                         \
    [VKF_WEIGHT_FEED_FORWARD_1] = feed_forward ".DenseReluDense.wi_1.weight",                               \
    [VKF_WEIGHT_UNGATED_1] = feed_forward ".DenseReluDense.wi.weight",                                      \
    [VKF_WEIGHT_FEED_FORWARD_2] = feed_forward ".DenseReluDense.wo.weight",                                 \
    [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = feed_forward ".layer_norm.weight"

const vkf__family vkf__family_t5 = {
    .model_types = {"t5"},
    .base = "",
    .layer = "encoder.block.",
    .decoder_layer = "decoder.block.",
    .other_embeddings = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"},
    .config =
        {
            .kind = VKF_MODEL_SEQ2SEQ,
            .norm_first = true,
            .norm = VKF_NORM_RMS,
            .final_norm = true,
            .positions = VKF_POSITIONS_NONE,
            .max_source_len = 512, // the length that it was trained with; relative positions set no limit
            .d_model = 512,
            .num_heads = 8,
            .head_dim = 64,
            .dim_feedforward = 2048,
            .num_encoder_layers = 6,
            .activation = VKF_ACTIVATION_RELU,
            .layer_norm_eps = 1e-6f,
            .source_vocab = 32128,
            .bos_id = -1,
            .eos_id = 1,
            .eos_ids = {1},
            .eos_count = 1,
            .relative_buckets = 32,
            .relative_distance = 128,
            .unscaled_embedding = true,
            .unscaled_attention = true,
            .tie_projection = true,
        },
    .weights =
        {
            NAMES("layer.1"),
            [VKF_WEIGHT_WORDS] = "shared.weight",
            [VKF_WEIGHT_PROJECTION] = "lm_head.weight",
            [VKF_WEIGHT_FINAL_NORM_WEIGHT] = "encoder.final_layer_norm.weight",
            [VKF_WEIGHT_RELATIVE_BIAS] = "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        },
    .decoder_weights =
        {
            NAMES("layer.2"),
            [VKF_WEIGHT_CROSS_Q] = "layer.1.EncDecAttention.q.weight",
            [VKF_WEIGHT_CROSS_K] = "layer.1.EncDecAttention.k.weight",
            [VKF_WEIGHT_CROSS_V] = "layer.1.EncDecAttention.v.weight",
            [VKF_WEIGHT_CROSS_OUT] = "layer.1.EncDecAttention.o.weight",
            [VKF_WEIGHT_CROSS_NORM_WEIGHT] = "layer.1.layer_norm.weight",
            [VKF_WEIGHT_FINAL_NORM_WEIGHT] = "decoder.final_layer_norm.weight",
            [VKF_WEIGHT_RELATIVE_BIAS] = "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        },
    .keys =
        {
            .d_model = "d_model",
            .num_heads = "num_heads",
            .dim_feedforward = "d_ff",
            .num_layers = "num_layers",
            .vocab = "vocab_size",
            .max_positions = "n_positions",
            .layer_norm_eps = "layer_norm_epsilon",
            .head_dim = "d_kv",
            .decoder_layers = "num_decoder_layers",
            .relative_buckets = "relative_attention_num_buckets",
            .relative_distance = "relative_attention_max_distance",
            .scaled_logits = "scale_decoder_outputs",
            .gated_activation = "feed_forward_proj",
        },
    .scales_tied_logits = true,
};

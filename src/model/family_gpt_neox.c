// GPT-NeoX and Pythia (Black et al. 2022, Biderman et al. 2023): rotary positions on a part of each head, attention and
// feed-forward side by side.
#include "model/family.h"

const vkf__family vkf__family_gpt_neox = {
    .model_types = {"gpt_neox"},
    .base = "gpt_neox.",
    .layer = "layers.",
    .qkv = VKF_FUSED_BY_HEAD,
    .config =
        {
            .kind = VKF_MODEL_DECODER,
            .norm_first = true,
            .parallel = true,
            .attention_bias = true,
            .feed_forward_bias = true,
            .norm_bias = true,
            .final_norm = true,
        },
    .weights =
        {
            [VKF_WEIGHT_WORDS] = "embed_in.weight",
            [VKF_WEIGHT_FINAL_NORM_WEIGHT] = "final_layer_norm.weight",
            [VKF_WEIGHT_FINAL_NORM_BIAS] = "final_layer_norm.bias",
            [VKF_WEIGHT_PROJECTION] = "embed_out.weight",
            [VKF_WEIGHT_Q] = "attention.query_key_value.weight",
            [VKF_WEIGHT_K] = "attention.query_key_value.weight",
            [VKF_WEIGHT_V] = "attention.query_key_value.weight",
            [VKF_WEIGHT_Q_BIAS] = "attention.query_key_value.bias",
            [VKF_WEIGHT_K_BIAS] = "attention.query_key_value.bias",
            [VKF_WEIGHT_V_BIAS] = "attention.query_key_value.bias",
            [VKF_WEIGHT_OUT] = "attention.dense.weight",
            [VKF_WEIGHT_OUT_BIAS] = "attention.dense.bias",
            [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = "input_layernorm.weight",
            [VKF_WEIGHT_ATTENTION_NORM_BIAS] = "input_layernorm.bias",
            [VKF_WEIGHT_FEED_FORWARD_1] = "mlp.dense_h_to_4h.weight",
            [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = "mlp.dense_h_to_4h.bias",
            [VKF_WEIGHT_FEED_FORWARD_2] = "mlp.dense_4h_to_h.weight",
            [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = "mlp.dense_4h_to_h.bias",
            [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = "post_attention_layernorm.weight",
            [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = "post_attention_layernorm.bias",
        },
    .keys =
        {
            .d_model = "hidden_size",
            .num_heads = "num_attention_heads",
            .dim_feedforward = "intermediate_size",
            .num_layers = "num_hidden_layers",
            .activation = "hidden_act",
            .vocab = "vocab_size",
            .max_positions = "max_position_embeddings",
            .layer_norm_eps = "layer_norm_eps",
            .parallel = "use_parallel_residual",
            .attention_bias = "attention_bias",
            .rotary_theta = "rotary_emb_base",
            .rotary_part = "rotary_pct",
        },
    .rotary_theta = 1e4f,
    .rotary_part = 0.25f,
};

// GPT-2 (Radford et al. 2019), transformers' GPT2LMHeadModel: learned positions, LayerNorm before each block, weights as
// its Conv1D keeps them.
#include "model/family.h"

const vkf__family vkf__family_gpt2 = {
    .model_types = {"gpt2"},
    .base = "transformer.",
    .layer = "h.",
    .qkv = VKF_FUSED,
    .transposed = true,
    .config =
        {
            .kind = VKF_MODEL_DECODER,
            .norm_first = true,
            .learned_positions = true,
            .attention_bias = true,
            .feed_forward_bias = true,
            .norm_bias = true,
            .final_norm = true,
            .tie_projection = true,
        },
    .weights =
        {
            [VKF_WEIGHT_WORDS] = "wte.weight",
            [VKF_WEIGHT_POSITIONS] = "wpe.weight",
            [VKF_WEIGHT_FINAL_NORM_WEIGHT] = "ln_f.weight",
            [VKF_WEIGHT_FINAL_NORM_BIAS] = "ln_f.bias",
            [VKF_WEIGHT_PROJECTION] = "lm_head.weight",
            [VKF_WEIGHT_Q] = "attn.c_attn.weight",
            [VKF_WEIGHT_K] = "attn.c_attn.weight",
            [VKF_WEIGHT_V] = "attn.c_attn.weight",
            [VKF_WEIGHT_Q_BIAS] = "attn.c_attn.bias",
            [VKF_WEIGHT_K_BIAS] = "attn.c_attn.bias",
            [VKF_WEIGHT_V_BIAS] = "attn.c_attn.bias",
            [VKF_WEIGHT_OUT] = "attn.c_proj.weight",
            [VKF_WEIGHT_OUT_BIAS] = "attn.c_proj.bias",
            [VKF_WEIGHT_ATTENTION_NORM_WEIGHT] = "ln_1.weight",
            [VKF_WEIGHT_ATTENTION_NORM_BIAS] = "ln_1.bias",
            [VKF_WEIGHT_FEED_FORWARD_1] = "mlp.c_fc.weight",
            [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = "mlp.c_fc.bias",
            [VKF_WEIGHT_FEED_FORWARD_2] = "mlp.c_proj.weight",
            [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = "mlp.c_proj.bias",
            [VKF_WEIGHT_FEED_FORWARD_NORM_WEIGHT] = "ln_2.weight",
            [VKF_WEIGHT_FEED_FORWARD_NORM_BIAS] = "ln_2.bias",
        },
    .keys =
        {
            .d_model = "n_embd",
            .num_heads = "n_head",
            .dim_feedforward = "n_inner",
            .num_layers = "n_layer",
            .activation = "activation_function",
            .vocab = "vocab_size",
            .max_positions = "n_positions",
            .layer_norm_eps = "layer_norm_epsilon",
        },
    .feed_forward_factor = 4,
    .demands = {{"scale_attn_weights", "true"},
                {"scale_attn_by_inverse_layer_idx", "false"},
                {"add_cross_attention", "false"}},
};

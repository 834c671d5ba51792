// Qwen3 (Yang et al. 2025): Qwen2 whose queries and keys are normalised head by head, in place of the biases.
#include "model/family_llama.h"

const vkf__family vkf__family_qwen3 = {
    .model_types = {"qwen3"},
    VKF_FAMILY_LIKE_LLAMA,
    .config = {VKF_CONFIG_LIKE_LLAMA, .head_dim = 128},
    .weights =
        {
            VKF_WEIGHTS_LIKE_LLAMA,
            VKF_BIASES_LIKE_LLAMA,
            [VKF_WEIGHT_OUT_BIAS] = "self_attn.o_proj.bias",
            [VKF_WEIGHT_Q_NORM] = "self_attn.q_norm.weight",
            [VKF_WEIGHT_K_NORM] = "self_attn.k_norm.weight",
        },
    .keys =
        {
            VKF_KEYS_LIKE_LLAMA,
            .attention_bias = "attention_bias",
            .window = "sliding_window",
            .windowed = "use_sliding_window",
            .windowed_from = "max_window_layers",
        },
};

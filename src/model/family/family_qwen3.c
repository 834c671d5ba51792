// Qwen3 (Yang et al. 2025): Qwen2 whose queries and keys are normalised head by head, in place of the biases.
#include "model/family/family_llama.h"

static const vkf__family_head heads[] = {VKF_HEADS_OF_DECODER("Qwen3", "score"), {0}};

const vkf__family vkf__family_qwen3 = {
    .model_types = {"qwen3"},
    .heads = heads,
    VKF_FAMILY_LIKE_LLAMA,
    .config =
        {
            VKF_CONFIG_LIKE_LLAMA,
            VKF_NO_TOKENS,
            .head_dim = 128,
            .dim_feedforward = 22016,
            .num_kv_heads = 32,
            .target_vocab = 151936,
            .max_target_len = 32768,
            .window = 4096,
        },
    .windowed_from = 28,
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

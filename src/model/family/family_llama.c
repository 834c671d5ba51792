// Llama 1 to 3 (Touvron et al. 2023, Dubey et al. 2024), transformers' LlamaForCausalLM: RMSNorm before each block,
// rotary positions, grouped heads, gated feed-forward.
#include "model/family/family_llama.h"

static const vkf__family_head heads[] = {VKF_HEADS_OF_DECODER("Llama", "score"), {0}};

const vkf__family vkf__family_llama = {
    .model_types = {"llama"},
    .heads = heads,
    VKF_FAMILY_LIKE_LLAMA,
    .config =
        {
            VKF_CONFIG_LIKE_LLAMA,
            VKF_TOKENS_LIKE_LLAMA,
            .dim_feedforward = 11008,
            .target_vocab = 32000,
            .max_target_len = 2048,
        },
    .weights =
        {
            VKF_WEIGHTS_LIKE_LLAMA,
            VKF_BIASES_LIKE_LLAMA,
            [VKF_WEIGHT_OUT_BIAS] = "self_attn.o_proj.bias",
            [VKF_WEIGHT_GATE_BIAS] = "mlp.gate_proj.bias",
            [VKF_WEIGHT_FEED_FORWARD_1_BIAS] = "mlp.up_proj.bias",
            [VKF_WEIGHT_FEED_FORWARD_2_BIAS] = "mlp.down_proj.bias",
        },
    .keys =
        {
            VKF_KEYS_LIKE_LLAMA,
            .attention_bias = "attention_bias",
            .feed_forward_bias = "mlp_bias",
        },
};

// Qwen2 and 2.5 (Yang et al. 2024): Llama with biases of queries, keys and values; if there is a window, upper layers
// have it.
#include "model/family/family_llama.h"

static const vkf__family_head heads[] = {VKF_HEADS_OF_DECODER("Qwen2", "score"), {0}};

const vkf__family vkf__family_qwen2 = {
    .model_types = {"qwen2"},
    .heads = heads,
    VKF_FAMILY_LIKE_LLAMA,
    .config =
        {
            VKF_CONFIG_LIKE_LLAMA,
            VKF_NO_TOKENS,
            .attention_bias = true,
            .dim_feedforward = 22016,
            .num_kv_heads = 32,
            .target_vocab = 151936,
            .max_target_len = 32768,
            .window = 4096,
        },
    .windowed_from = 28,
    .weights = {VKF_WEIGHTS_LIKE_LLAMA, VKF_BIASES_LIKE_LLAMA},
    .keys =
        {
            VKF_KEYS_LIKE_LLAMA,
            .window = "sliding_window",
            .windowed = "use_sliding_window",
            .windowed_from = "max_window_layers",
        },
};

// Qwen2 and 2.5 (Yang et al. 2024): Llama with biases of queries, keys and values, and a window in the upper layers if any.
#include "model/family_llama.h"

const vkf__family vkf__family_qwen2 = {
    .model_types = {"qwen2"},
    VKF_FAMILY_LIKE_LLAMA,
    .config = {VKF_CONFIG_LIKE_LLAMA, .attention_bias = true},
    .weights = {VKF_WEIGHTS_LIKE_LLAMA, VKF_BIASES_LIKE_LLAMA},
    .keys =
        {
            VKF_KEYS_LIKE_LLAMA,
            .window = "sliding_window",
            .windowed = "use_sliding_window",
            .windowed_from = "max_window_layers",
        },
};

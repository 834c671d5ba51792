// Mistral (Jiang et al. 2023): Llama with sliding-window attention.
#include "model/family/family_llama.h"

static const vkf__family_head heads[] = {VKF_HEADS_OF_DECODER("Mistral", "score"), {0}};

const vkf__family vkf__family_mistral = {
    .model_types = {"mistral"},
    .heads = heads,
    VKF_FAMILY_LIKE_LLAMA,
    .config =
        {
            VKF_CONFIG_LIKE_LLAMA,
            VKF_TOKENS_LIKE_LLAMA,
            .dim_feedforward = 14336,
            .num_kv_heads = 8,
            .target_vocab = 32000,
            .max_target_len = 131072,
            .window = 4096,
        },
    .ignores_layer_types = true,
    .weights = {VKF_WEIGHTS_LIKE_LLAMA},
    .keys = {VKF_KEYS_LIKE_LLAMA, .window = "sliding_window"},
};

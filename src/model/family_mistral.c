// Mistral (Jiang et al. 2023): Llama whose positions see the latest ones alone.
#include "model/family_llama.h"

const vkf__family vkf__family_mistral = {
    .model_types = {"mistral"},
    VKF_FAMILY_LIKE_LLAMA,
    .config = {VKF_CONFIG_LIKE_LLAMA},
    .weights = {VKF_WEIGHTS_LIKE_LLAMA},
    .keys = {VKF_KEYS_LIKE_LLAMA, .window = "sliding_window"},
};

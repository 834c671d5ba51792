// BART (Lewis et al. 2020), transformers' BartForConditionalGeneration: post-norm, learned positions that begin at row 2, a
// norm behind the embeddings.
#include "model/family_bart.h"

const vkf__family vkf__family_bart = {
    .model_types = {"bart"},
    VKF_FAMILY_LIKE_BART,
    .config =
        {
            VKF_CONFIG_LIKE_BART,
            .positions = VKF_POSITIONS_LEARNED,
            .position_offset = 2,
        },
    .weights =
        {
            VKF_MODEL_WEIGHTS_LIKE_BART,
            VKF_WEIGHTS_LIKE_BART,
            [VKF_WEIGHT_POSITIONS] = "encoder.embed_positions.weight",
            [VKF_WEIGHT_EMBEDDING_NORM_WEIGHT] = "encoder.layernorm_embedding.weight",
            [VKF_WEIGHT_EMBEDDING_NORM_BIAS] = "encoder.layernorm_embedding.bias",
        },
    .decoder_weights =
        {
            VKF_WEIGHTS_LIKE_BART,
            VKF_CROSS_LIKE_BART,
            [VKF_WEIGHT_POSITIONS] = "decoder.embed_positions.weight",
            [VKF_WEIGHT_EMBEDDING_NORM_WEIGHT] = "decoder.layernorm_embedding.weight",
            [VKF_WEIGHT_EMBEDDING_NORM_BIAS] = "decoder.layernorm_embedding.bias",
        },
    .keys = {VKF_KEYS_LIKE_BART},
};

// BART (Lewis et al. 2020), transformers' BartForConditionalGeneration: post-norm, learned positions that begin at row
// 2, and a norm after the embeddings.
#include "model/family/family_bart.h"

const vkf__family vkf__family_bart = {
    .model_types = {"bart"},
    VKF_FAMILY_LIKE_BART,
    .config =
        {
            VKF_CONFIG_LIKE_BART,
            .positions = VKF_POSITIONS_LEARNED,
            .position_offset = 2,
            .d_model = 1024,
            .num_heads = 16,
            .dim_feedforward = 4096,
            .num_encoder_layers = 12,
            .num_decoder_layers = 12,
            .num_decoder_heads = 16,
            .dim_decoder_feedforward = 4096,
            .activation = VKF_ACTIVATION_GELU_ERF,
            .max_source_len = 1024,
            .source_vocab = 50265,
            .pad_id = 1,
            .bos_id = 2,
            .eos_id = 2,
            .eos_ids = {2},
            .eos_count = 1,
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

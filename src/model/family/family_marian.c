// Marian (Junczys-Dowmunt et al. 2018), transformers' MarianMTModel, the OPUS-MT translators: BART with sinusoidal
// positions.
#include "model/family/family_bart.h"

const vkf__family vkf__family_marian = {
    .model_types = {"marian"},
    VKF_FAMILY_LIKE_BART,
    .config =
        {
            VKF_CONFIG_LIKE_BART,
            .positions = VKF_POSITIONS_SINUSOIDAL_HALVES,
            .d_model = 1024,
            .num_heads = 16,
            .dim_feedforward = 4096,
            .num_encoder_layers = 12,
            .num_decoder_layers = 12,
            .num_decoder_heads = 16,
            .dim_decoder_feedforward = 4096,
            .activation = VKF_ACTIVATION_GELU_ERF,
            .max_source_len = 1024,
            .source_vocab = 58101,
            .pad_id = 58100,
            .bos_id = 58100,
            .eos_ids = {0},
            .eos_count = 1,
        },
    .weights = {VKF_MODEL_WEIGHTS_LIKE_BART, VKF_WEIGHTS_LIKE_BART},
    .decoder_weights = {VKF_WEIGHTS_LIKE_BART, VKF_CROSS_LIKE_BART},
    .keys = {VKF_KEYS_LIKE_BART},
    .demands = {{"share_encoder_decoder_embeddings", "true"}},
};

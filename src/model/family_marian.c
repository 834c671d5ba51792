// Marian (Junczys-Dowmunt et al. 2018), transformers' MarianMTModel, the OPUS-MT translators: BART with sines and cosines for
// positions.
#include "model/family_bart.h"

const vkf__family vkf__family_marian = {
    .model_types = {"marian"},
    VKF_FAMILY_LIKE_BART,
    .config = {VKF_CONFIG_LIKE_BART, .positions = VKF_POSITIONS_SINUSOIDAL_HALVES},
    .weights = {VKF_MODEL_WEIGHTS_LIKE_BART, VKF_WEIGHTS_LIKE_BART},
    .decoder_weights = {VKF_WEIGHTS_LIKE_BART, VKF_CROSS_LIKE_BART},
    .keys = {VKF_KEYS_LIKE_BART},
    .demands = {{"share_encoder_decoder_embeddings", "true"}},
};

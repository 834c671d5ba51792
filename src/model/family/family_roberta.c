// RoBERTa (Liu et al. 2019), XLM-RoBERTa and CamemBERT: BERT with positions that begin after the padding token's id.
#include "model/family/family_bert.h"

#define HEADS(class)                                                                                                  \
    VKF_HEADS_PER_TOKEN(class),                                                                                       \
        {                                                                                                             \
            .architecture = class "ForSequenceClassification",                                                        \
            .head = VKF_HEAD_SEQUENCE_CLASSIFICATION,                                                                 \
            .weights = {"classifier.dense.weight", "classifier.dense.bias", NULL, NULL, "classifier.out_proj.weight", \
                        "classifier.out_proj.bias"},                                                                  \
            .pooling = VKF_POOLING_FIRST,                                                                             \
            .activation = VKF_ACTIVATION_TANH,                                                                        \
        },                                                                                                            \
    {                                                                                                                 \
        .architecture = class "ForMaskedLM", .head = VKF_HEAD_MASKED_LM,                                              \
        .weights = {"lm_head.dense.weight",    "lm_head.dense.bias",     "lm_head.layer_norm.weight",                 \
                    "lm_head.layer_norm.bias", "lm_head.decoder.weight", "lm_head.bias"},                             \
        .own_bias = "lm_head.decoder.bias", .activation = VKF_ACTIVATION_GELU_ERF,                                    \
    }

static const vkf__family_head heads[] = {HEADS("Roberta"), HEADS("XLMRoberta"), HEADS("Camembert"), {0}};

const vkf__family vkf__family_roberta = {
    .model_types = {"roberta", "xlm-roberta", "camembert"},
    .base = "roberta.",
    .heads = heads,
    .positions_after_pad = true,
    .config = {VKF_CONFIG_LIKE_BERT, .pad_id = 1}, // the default vocabulary differs among the three
    VKF_FAMILY_LIKE_BERT,
};

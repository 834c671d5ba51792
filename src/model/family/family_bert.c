// BERT (Devlin et al. 2018), transformers' BertModel: post-norm, learned positions, two token types.
#include "model/family/family_bert.h"

static const vkf__family_head heads[] = {
    VKF_HEADS_PER_TOKEN("Bert"),
    {
        .architecture = "BertForSequenceClassification",
        .head = VKF_HEAD_SEQUENCE_CLASSIFICATION,
        .weights =
            {
                [VKF_HEAD_DENSE] = "bert.pooler.dense.weight",
                [VKF_HEAD_DENSE_BIAS] = "bert.pooler.dense.bias",
                [VKF_HEAD_PROJECTION] = "classifier.weight",
                [VKF_HEAD_PROJECTION_BIAS] = "classifier.bias",
            },
        .pooling = VKF_POOLING_FIRST,
        .activation = VKF_ACTIVATION_TANH,
    },
    {
        .architecture = "BertForMaskedLM",
        .head = VKF_HEAD_MASKED_LM,
        .weights =
            {
                [VKF_HEAD_DENSE] = "cls.predictions.transform.dense.weight",
                [VKF_HEAD_DENSE_BIAS] = "cls.predictions.transform.dense.bias",
                [VKF_HEAD_NORM_WEIGHT] = "cls.predictions.transform.LayerNorm.weight",
                [VKF_HEAD_NORM_BIAS] = "cls.predictions.transform.LayerNorm.bias",
                [VKF_HEAD_PROJECTION] = "cls.predictions.decoder.weight",
                [VKF_HEAD_PROJECTION_BIAS] = "cls.predictions.bias",
            },
        .own_bias = "cls.predictions.decoder.bias",
        .activation_key = "hidden_act",
    },
    {0},
};

const vkf__family vkf__family_bert = {
    .model_types = {"bert"},
    .base = "bert.",
    .heads = heads,
    .config = {VKF_CONFIG_LIKE_BERT, .source_vocab = 30522},
    VKF_FAMILY_LIKE_BERT,
};

// BERT (Devlin et al. 2018), transformers' BertModel: post-norm, learned positions, two token types.
#include "model/family_bert.h"

const vkf__family vkf__family_bert = {
    .model_types = {"bert"},
    .base = "bert.",
    VKF_FAMILY_LIKE_BERT,
};

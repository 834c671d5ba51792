// RoBERTa (Liu et al. 2019), XLM-RoBERTa and CamemBERT: BERT with positions that count from behind the padding token's id.
#include "model/family_bert.h"

const vkf__family vkf__family_roberta = {
    .model_types = {"roberta", "xlm-roberta", "camembert"},
    .base = "roberta.",
    .positions_after_pad = true,
    VKF_FAMILY_LIKE_BERT,
};

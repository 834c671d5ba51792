// The table of kinds.
#include "lab/eval/eval_kinds.h"

#include <string.h>

const vkf_eval_kind vkf__eval_kinds[] = {
    {"mha", vkf__eval_mha},
    {"seed2", vkf__eval_seed2},
    {"seed3", vkf__eval_seed3},
    {"encoder_layer", vkf__eval_encoder_layer},
    {"decoder_layer", vkf__eval_decoder_layer},
    {"transformer", vkf__eval_transformer},
    {"seq2seq", vkf__eval_seq2seq},
    {"gemm", vkf__eval_gemm},
    {"softmax", vkf__eval_softmax},
    {"layernorm", vkf__eval_layernorm},
    {"permute", vkf__eval_permute},
    {"additive_attention", vkf__eval_additive_attention},
    {"gradient", vkf__eval_gradient},
};
const size_t vkf__eval_kind_count = sizeof vkf__eval_kinds / sizeof vkf__eval_kinds[0];

const vkf_eval_kind *vkf__eval_kind(const char *name)
{
    for (size_t i = 0; i < vkf__eval_kind_count; i++)
        if (strcmp(vkf__eval_kinds[i].name, name) == 0)
            return &vkf__eval_kinds[i];
    return NULL;
}

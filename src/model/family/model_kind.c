// The table of facts about each kind of model.
#include "model/family/model_kind.h"

#include <assert.h>

static const vkf__kind_facts facts[VKF_MODEL_KIND_COUNT] = {
    [VKF_MODEL_TRANSFORMER] =
        {
            .encodes = true,
            .decodes = true,
            .crosses = true,
            .without_directory = true,
            .grouped_heads = true,
        },
    [VKF_MODEL_SEQ2SEQ] =
        {
            .encodes = true,
            .decodes = true,
            .crosses = true,
            .source_ids = true,
            .generates = true,
            .start_token = true,
            .without_directory = true,
            .own_decoder = true,
            .family_layers = true,
            .scaled_embedding = true,
        },
    [VKF_MODEL_ENCODER] =
        {
            .encodes = true,
            .source_ids = true,
            .source_lengths = true,
            .pools = true,
            .family_layers = true,
            .grouped_heads = true,
            .centred_windows = true,
        },
    [VKF_MODEL_DECODER] =
        {
            .decodes = true,
            .prompts = true,
            .generates = true,
            .family_layers = true,
            .grouped_heads = true,
            .always_causal = true,
        },
};

const vkf__kind_facts *vkf__facts_of(const vkf_model_config *config)
{
    assert(config->kind < VKF_MODEL_KIND_COUNT);
    return &facts[config->kind];
}

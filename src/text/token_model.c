// The table of models, and the list of tokens that they fill.
#include "text/token_model.h"

void vkf__token_scratch_free(vkf__token_scratch *scratch)
{
    vkf__free(scratch->host, scratch->tokens);
    vkf__free(scratch->host, scratch->work);
    vkf__free(scratch->host, scratch->queue);
}

vkf_status vkf__add_token(vkf__token_scratch *scratch, int32_t id, size_t begin, size_t end)
{
    vkf_status status = vkf__grow(scratch->host, (void **)&scratch->tokens, sizeof *scratch->tokens, scratch->count,
                                  &scratch->capacity, scratch->count + 1);
    if (status == VKF_OK)
        scratch->tokens[scratch->count++] = (vkf__model_token){id, (uint32_t)begin, (uint32_t)end};
    return status;
}

static const vkf__token_model_kind *const kinds[] = {
    &vkf__bpe_kind,
    &vkf__unigram_kind,
    &vkf__word_level_kind,
    &vkf__word_piece_kind,
};

#define KIND_COUNT (sizeof kinds / sizeof *kinds)

// Files from before 2020 name no type; the keys that they have tell the kind.
static size_t untyped_kind(const json_t *model)
{
    if (json_object_get(model, "merges"))
        return 0;
    if (json_is_array(json_object_get(model, "vocab")))
        return 1;
    return json_object_get(model, "continuing_subword_prefix") ? 3 : 2;
}

vkf_status vkf__token_model_load(const vkf__json_section *section, vkf__token_model *out_model)
{
    const char *names[KIND_COUNT];
    size_t kind = 0;
    *out_model = (vkf__token_model){0};
    for (size_t i = 0; i < KIND_COUNT; i++)
        names[i] = kinds[i]->name;
    VKF_RETURN_IF_ERROR(vkf__section_is_object(section));
    if (json_object_get(section->object, "type"))
        VKF_RETURN_IF_ERROR(vkf__section_type(section, names, sizeof *names, KIND_COUNT, &kind));
    else
        kind = untyped_kind(section->object);
    out_model->kind = kinds[kind];
    return out_model->kind->load(section, &out_model->vocabulary, &out_model->self);
}

void vkf__token_model_free(vkf__token_model *model)
{
    if (model->kind && model->self)
        model->kind->free(model->vocabulary.host, model->self);
    vkf__vocabulary_free(&model->vocabulary);
    *model = (vkf__token_model){0};
}

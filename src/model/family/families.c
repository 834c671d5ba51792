// Lists the families.
#include "model/family/families.h"

#include <stdio.h>
#include <string.h>

static const vkf__family *const families[] = {
    &vkf__family_bart,  &vkf__family_bert,    &vkf__family_distilbert, &vkf__family_gpt2,       &vkf__family_gpt_neox,
    &vkf__family_llama, &vkf__family_marian,  &vkf__family_mistral,    &vkf__family_modernbert, &vkf__family_qwen2,
    &vkf__family_qwen3, &vkf__family_roberta, &vkf__family_t5,
};

#define FAMILY_COUNT (sizeof families / sizeof families[0])
#define MAX_MODEL_TYPES (sizeof families[0]->model_types / sizeof families[0]->model_types[0])

const vkf__family *vkf__family_find(const char *model_type)
{
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        for (size_t j = 0; j < MAX_MODEL_TYPES && families[i]->model_types[j]; j++)
            if (strcmp(families[i]->model_types[j], model_type) == 0)
                return families[i];
    return NULL;
}

// Classes of several model types come in the order of these.
const vkf__family_head *vkf__family_class(const vkf__family *family, const char *model_type, vkf_head kind)
{
    const vkf__family_head *found = NULL;
    size_t place = 0, seen = 0;
    while (family->model_types[place] && strcmp(family->model_types[place], model_type) != 0)
        place++;
    for (const vkf__family_head *head = family->heads; head && head->architecture; head++)
        if (head->head == kind && (!found || seen++ < place))
            found = head;
    return found;
}

void vkf__family_names(char *out_text, size_t capacity)
{
    size_t used = 0;
    if (capacity > 0)
        out_text[0] = '\0';
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        for (size_t j = 0; j < MAX_MODEL_TYPES && families[i]->model_types[j] && used < capacity; j++)
            used += (size_t)snprintf(out_text + used, capacity - used, "%s%s", used > 0 ? ", " : "",
                                     families[i]->model_types[j]);
}

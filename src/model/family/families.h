// The families that are built.
#ifndef VKF_MODEL_FAMILIES_H
#define VKF_MODEL_FAMILIES_H

#include "model/family/family.h"

extern const vkf__family vkf__family_bart;
extern const vkf__family vkf__family_bert;
extern const vkf__family vkf__family_distilbert;
extern const vkf__family vkf__family_gpt2;
extern const vkf__family vkf__family_gpt_neox;
extern const vkf__family vkf__family_llama;
extern const vkf__family vkf__family_marian;
extern const vkf__family vkf__family_mistral;
extern const vkf__family vkf__family_modernbert;
extern const vkf__family vkf__family_qwen2;
extern const vkf__family vkf__family_qwen3;
extern const vkf__family vkf__family_roberta;
extern const vkf__family vkf__family_t5;

// Returns NULL when no family has this model_type.
const vkf__family *vkf__family_find(const char *model_type);
// The class with which a family has a head, of those of its several model types; NULL when it has none.
const vkf__family_head *vkf__family_class(const vkf__family *family, const char *model_type, vkf_head head);
// Writes every model_type: "bert, distilbert, ...".
void vkf__family_names(char *out_text, size_t capacity);

#endif

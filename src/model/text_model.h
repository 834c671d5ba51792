// A model together with the tokenizer of its directory.
#ifndef VKF_MODEL_TEXT_MODEL_H
#define VKF_MODEL_TEXT_MODEL_H

#include "model/model.h"
#include "text/tokenizer.h"

typedef struct vkf__text_model {
    vkf_model *model;
    vkf__tokenizer tokenizer;
} vkf__text_model;

// Ownership: vkf__text_model_free(), which accepts what is zero; on failure there is nothing to free. Statuses: as
// vkf_model_load() and vkf_tokenizer_load(); FORMAT where the tokenizer has ids that the model does not know.
VKF_MUST_CHECK vkf_status vkf__text_model_load(vkf_context *context, const vkf_model_desc *desc,
                                               vkf__text_model *out_model);
void vkf__text_model_free(vkf__text_model *model);

#endif

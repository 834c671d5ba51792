// A model together with the tokenizer of its directory.
#ifndef VKF_MODEL_TEXT_MODEL_H
#define VKF_MODEL_TEXT_MODEL_H

#include "model/id_check.h"
#include "model/model.h"

typedef struct vkf__text_model {
    const vkf__host *host; // the context's; NULL: nothing is there
    vkf_model *model;
    vkf__tokenizer tokenizer;
    char *tokenizer_path; // for messages
} vkf__text_model;

// Ownership: vkf__text_model_free(), which accepts what is zero; on failure there is nothing to free. Statuses: as
// vkf_model_load() and vkf_tokenizer_load(); FORMAT where the tokenizer has ids that the model does not know.
VKF_MUST_CHECK vkf_status vkf__text_model_load(vkf_context *context, const vkf_model_desc *desc,
                                               vkf__text_model *out_model);
void vkf__text_model_free(vkf__text_model *model);

// The tokens of a text, and of a second one where `pair` has bytes: every id and type is in the model's tables. This is
// how text becomes ids wherever a model is to read them. Ownership: as vkf_tokenizer_encode(). Statuses: as there, and
// as vkf__check_encoding().
VKF_MUST_CHECK vkf_status vkf__text_model_encode(const vkf__text_model *model, const vkf_text *text,
                                                 const vkf_text *pair, const vkf_encode_options *options,
                                                 vkf_encoding *out_encoding);

// The same of what stands in a text and is not read by itself, a prompt in front of it: it may have no tokens.
VKF_MUST_CHECK vkf_status vkf__text_model_encode_part(const vkf__text_model *model, const vkf_text *part,
                                                      const vkf_encode_options *options, vkf_encoding *out_encoding);

#endif

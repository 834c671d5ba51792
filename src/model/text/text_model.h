// A model together with the tokenizer of its directory.
#ifndef VKF_MODEL_TEXT_MODEL_H
#define VKF_MODEL_TEXT_MODEL_H

#include "model/load/model.h"
#include "model/load/model_place.h"
#include "model/text/id_check.h"

typedef struct vkf__text_model {
    const vkf__host *host; // the context's; NULL: nothing was loaded
    vkf_model *model;
    vkf_tokenizer *tokenizer;
    char *tokenizer_path; // for messages
    vkf__model_place place;
    char *directory; // of the tokenizer and the files beside it
} vkf__text_model;

// Loads what `desc` names or, if `shared` is not NULL, takes that model, which it keeps, and loads the tokenizer alone.
// Ownership: vkf__text_model_free(), which accepts a zeroed model; on failure there is nothing to free. Statuses are
// those of vkf_model_load() and vkf_tokenizer_load(), FORMAT where the model pads with an id outside its
// vocabulary, and INVALID_ARGUMENT where `shared` is of another context, or nothing says where the tokenizer is.
VKF_MUST_CHECK vkf_status vkf__text_model_load(vkf_context *context, const vkf_model_desc *desc, vkf_model *shared,
                                               vkf__text_model *out_model);
// Finds the directory of the tokenizer and the files beside it: an adapter's that has one of its own, or the model's.
// The caller frees *out_directory. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__text_directory(const vkf__host *host, const vkf__model_place *place,
                                              char **out_directory);
// Loads the tokenizer of `text->place`, which is an adapter's where that has one of its own, and otherwise the model's.
// The caller calls vkf__text_model_free() whether this succeeds or not. Statuses are those of vkf_tokenizer_load(), and
// FORMAT where the model pads with an id that it has no row for.
VKF_MUST_CHECK vkf_status vkf__text_files_load(const vkf__host *host, const vkf_model_config *config,
                                               vkf__text_model *text);
// Whether a model of this configuration finds a tokenizer there: loads it, and lets it go. Statuses are those of
// vkf__text_files_load().
VKF_MUST_CHECK vkf_status vkf__text_files_try(const vkf__host *host, const vkf__model_place *place,
                                              const vkf_model_config *config);
// The directory that the caller gave for the model, or that a shared one came from.
const char *vkf__text_model_directory(const vkf_model_desc *desc, const vkf_model *shared);
// The context's host, with the files that the descriptor gives.
vkf__host vkf__text_model_host(const vkf_context *context, const vkf_model_desc *desc, const vkf_model *shared);
void vkf__text_model_free(vkf__text_model *model);

// Encodes a text and, where `pair` has bytes, a second one, and checks every id and type against the model's tables.
// All text that a model reads is encoded here. Ownership as for vkf_tokenizer_encode(). Statuses are its own and those
// of vkf__check_encoding().
VKF_MUST_CHECK vkf_status vkf__text_model_encode(const vkf__text_model *model, const vkf_text *text,
                                                 const vkf_text *pair, const vkf_encode_options *options,
                                                 vkf_encoding *out_encoding);

// The same for a part of a text that the model does not read alone, like a prompt before it; it may have no tokens.
VKF_MUST_CHECK vkf_status vkf__text_model_encode_part(const vkf__text_model *model, const vkf_text *part,
                                                      const vkf_encode_options *options, vkf_encoding *out_encoding);

#endif

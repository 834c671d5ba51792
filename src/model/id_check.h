// The one place where the ids of a text are held against the tables of the model that is to read it. Every text goes
// through vkf__text_model_encode(), which asks here.
#ifndef VKF_MODEL_ID_CHECK_H
#define VKF_MODEL_ID_CHECK_H

#include <vkformer/model.h>

#include "text/tokenizer.h"

// A tokenizer and the model that it goes with. `path` is the tokenizer's file, for messages.
typedef struct vkf__id_tables {
    const vkf__host *host;
    const char *path;
    const vkf__tokenizer *tokenizer;
    const vkf_model_config *config;
} vkf__id_tables;

// Whether every id that the tokenizer can give, and the one that the model pads with, if there is one, has a row.
// Status FORMAT.
VKF_MUST_CHECK vkf_status vkf__check_tokenizer(const vkf__id_tables *tables);

// Whether every id and, of a model with several token types, every type has a row. A model with one type has nothing to
// tell apart: types are not looked at. Statuses: FORMAT (names the id, its token, the number of rows and the file),
// INVALID_ARGUMENT (there are no tokens, and only a DECODER that has a token to begin with needs none).
VKF_MUST_CHECK vkf_status vkf__check_encoding(const vkf__id_tables *tables, const vkf_encoding *encoding);

#endif

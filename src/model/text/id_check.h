// The one place where the ids of a text are checked against the tables of the model that reads it. Every text goes
// through vkf__text_model_encode(), which calls these checks.
#ifndef VKF_MODEL_ID_CHECK_H
#define VKF_MODEL_ID_CHECK_H

#include <vkformer/model.h>

#include "text/tokenizer.h"

// A tokenizer and the model that it belongs to. `path` is the tokenizer's file, for messages.
typedef struct vkf__id_tables {
    const vkf__host *host;
    const char *path;
    const vkf__tokenizer *tokenizer;
    const vkf_model_config *config;
} vkf__id_tables;

// Checks that the model's table has a row for the padding id if there is one. The tokenizer's other ids are checked
// where a text has them: a token that fine-tuning added, and that no text has, needs no row. Status FORMAT.
VKF_MUST_CHECK vkf_status vkf__check_padding(const vkf__id_tables *tables);

// Checks that the model's tables have a row for every id and, in a model with several token types, for every type; a
// model with one type ignores them. Statuses: FORMAT (names the id, its token, the number of rows and the file),
// INVALID_ARGUMENT (there are no tokens; only a DECODER that has a token to begin with accepts this).
VKF_MUST_CHECK vkf_status vkf__check_encoding(const vkf__id_tables *tables, const vkf_encoding *encoding);

#endif

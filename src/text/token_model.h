// The model of a tokenizer file: it turns one piece of text into tokens. Each kind is a row of a table.
#ifndef VKF_TEXT_TOKEN_MODEL_H
#define VKF_TEXT_TOKEN_MODEL_H

#include "text/vocabulary.h"

// [begin, end) is relative to the piece. A token of byte fallback stands for part of a character, and has the whole
// character's span.
typedef struct vkf__model_token {
    int32_t id;
    uint32_t begin;
    uint32_t end;
} vkf__model_token;

// The tokens of the pieces so far, and what models use while they work. It belongs to one thread, for one text or
// several.
typedef struct vkf__token_scratch {
    const vkf__host *host;
    size_t limit; // of the symbols that a piece may become meanwhile
    vkf__model_token *tokens;
    size_t count;
    size_t capacity;
    void *work; // the model's own
    size_t work_capacity;
    void *queue;
    size_t queue_capacity;
} vkf__token_scratch;

void vkf__token_scratch_free(vkf__token_scratch *scratch);
VKF_MUST_CHECK vkf_status vkf__add_token(vkf__token_scratch *scratch, int32_t id, size_t begin, size_t end);

typedef struct vkf__token_model vkf__token_model;

// One kind of model. `self` is the kind's own data.
typedef struct vkf__token_model_kind {
    const char *name;
    bool surface; // a token's text is the part of the text that it stands for, as in Unigram; else the vocabulary's
    vkf_status (*load)(const vkf__json_section *section, vkf__token_vocabulary *vocabulary, void **out_self);
    // Adds the tokens of a piece; bytes > 0.
    vkf_status (*tokenize)(const void *self, const vkf__token_vocabulary *vocabulary, const char *text, size_t bytes,
                           vkf__token_scratch *scratch);
    void (*free)(const vkf__host *host, void *self);
} vkf__token_model_kind;

extern const vkf__token_model_kind vkf__word_piece_kind;
extern const vkf__token_model_kind vkf__word_level_kind;
extern const vkf__token_model_kind vkf__bpe_kind;
extern const vkf__token_model_kind vkf__unigram_kind;

struct vkf__token_model {
    const vkf__token_model_kind *kind;
    vkf__token_vocabulary vocabulary;
    void *self;
};

// Loads the file's section "model". The model may be half-filled on failure: free it in either case. Statuses: FORMAT,
// UNSUPPORTED, OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__token_model_load(const vkf__json_section *section, vkf__token_model *out_model);
void vkf__token_model_free(vkf__token_model *model);

#endif

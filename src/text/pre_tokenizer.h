// The pre-tokeniser of a tokenizer file: a list of steps that cut text into pieces. No token of the model spans two
// pieces.
#ifndef VKF_TEXT_PRE_TOKENIZER_H
#define VKF_TEXT_PRE_TOKENIZER_H

#include "text/aligned_text.h"
#include "text/json_section.h"

typedef struct vkf__pre_tokenizer_step vkf__pre_tokenizer_step;

typedef struct vkf__pre_tokenizer {
    const vkf__host *host;
    vkf__pre_tokenizer_step *steps;
    size_t count;
    size_t capacity;
} vkf__pre_tokenizer;

// Reads the file's section "pre_tokenizer". `out_pre_tokenizer` may be half-filled on failure: free it in either case.
// Statuses: FORMAT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__pre_tokenizer_load(const vkf__json_section *section,
                                                  vkf__pre_tokenizer *out_pre_tokenizer);
void vkf__pre_tokenizer_free(vkf__pre_tokenizer *pre_tokenizer);

// Cuts the text into pieces. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__pre_tokenize(const vkf__pre_tokenizer *pre_tokenizer, vkf__aligned_text *text);

#endif

// Whether a sequence of tokens ends with a stop string, asked without what was asked of its beginning: as beam search does,
// whose sequences come and go.
#ifndef VKF_MODEL_STOP_STRINGS_H
#define VKF_MODEL_STOP_STRINGS_H

#include "text/tokenizer.h"

typedef struct vkf__stop_strings {
    const vkf__tokenizer *tokenizer;
    const vkf_text *stops;
    uint32_t count;
} vkf__stop_strings;

// Whether the text that the last token adds completes a stop string, wherever that began; what follows it in the token's
// text does not matter. Special tokens are text here, as transformers has it: no stop string reaches across them.
// Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__ends_with_stop(const vkf__stop_strings *strings, const int32_t *ids, uint32_t count,
                                              bool *out_ends);

#endif

// Whether a sequence of tokens ends with a stop string. Unlike vkf__text_stream this keeps no state, as the sequences
// of beam search come and go.
#ifndef VKF_MODEL_STOP_STRINGS_H
#define VKF_MODEL_STOP_STRINGS_H

#include "text/tokenizer.h"

typedef struct vkf__stop_strings {
    const vkf__tokenizer *tokenizer;
    const vkf_text *stops;
    uint32_t count;
} vkf__stop_strings;

// Says whether the last token's text completes a stop string. The stop string may begin in earlier tokens, and the
// token's text may go on after it. Special tokens count as text, as in transformers, so that no stop string reaches
// across them. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__ends_with_stop(const vkf__stop_strings *strings, const int32_t *ids, uint32_t count,
                                              bool *out_ends);

#endif

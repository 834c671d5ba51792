// What sentence-transformers does to a text before the model sees it: how long it may be, and whether it is put into
// lower case.
#ifndef VKF_MODEL_SENTENCE_TEXT_H
#define VKF_MODEL_SENTENCE_TEXT_H

#include "model/sentence_modules.h"

typedef struct vkf__sentence_text {
    uint32_t max_length; // in tokens; UINT32_MAX: nothing says
    bool lower_case;
} vkf__sentence_text;

// sentence_bert_config.json and what older versions called it, NULL behind the last. The first that is there, and is no
// empty object, counts.
extern const char *const vkf__sentence_text_files[];

// Reads one of these files beside the Transformer that the list names, and tokenizer_config.json there. max_seq_length of
// the one goes before model_max_length of the other. Statuses: FILE, FORMAT, UNSUPPORTED (a key that changes results and
// is not followed), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__sentence_text_load(const vkf__host *host, const char *transformer,
                                                  const vkf__sentence_list *list, vkf__sentence_text *out_text);

#endif

// What sentence-transformers does to a text before the model reads it: how long it may be, and whether it is
// lower-cased.
#ifndef VKF_MODEL_SENTENCE_TEXT_H
#define VKF_MODEL_SENTENCE_TEXT_H

#include "model/sentence/sentence_modules.h"

typedef struct vkf__sentence_text {
    uint32_t max_length; // in tokens; UINT32_MAX: no file gives one
    bool lower_case;
} vkf__sentence_text;

// sentence_bert_config.json and its names in older versions; ends with NULL. The first file that exists and is not an
// empty object counts.
extern const char *const vkf__sentence_text_files[];

// Reads one of these files and tokenizer_config.json in the Transformer's directory. max_seq_length of the former takes
// precedence over model_max_length of the latter. Statuses: FILE, FORMAT, UNSUPPORTED (a key that changes results and
// is not followed), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__sentence_text_load(const vkf__host *host, const char *transformer,
                                                  const vkf__sentence_list *list, vkf__sentence_text *out_text);

#endif

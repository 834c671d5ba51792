// What turns lines into ids: the model's tokenizer or vocabularies, and the names of its classes.
#ifndef VKF_PROGRAM_TRAIN_WORDS_H
#define VKF_PROGRAM_TRAIN_WORDS_H

#include "train/example_tokens.h"
#include "train/train_goal.h"

typedef struct vkf_train_words {
    const vkf__host *host;
    vkf_train_task task;
    const vkf_model_config *config;
    vkf_tokenizer *tokenizer;
    vkf__token_tables tables; // in its place, where the model has a vocabulary.json
    bool has_tables;
    const char **labels; // (label_count), of CLASSIFY and TAG; the inspection has the names
    uint32_t label_count;
    int32_t mask_id; // of FILL
} vkf_train_words;

// Reads the tokenizer and the classes' names in the model's directory, which was inspected. The inspection and the
// config must outlive the words, which are to be freed whether this succeeds or not. Statuses: UNSUPPORTED (the
// tokenizer has no mask that the task would need), those of the files.
VKF_MUST_CHECK vkf_status vkf_train_words_load(const vkf__host *host, const char *directory, vkf_inspection *inspection,
                                               const vkf_model_config *config, vkf_train_task task,
                                               vkf_train_words *out_words);
void vkf_train_words_free(vkf_train_words *words);

#endif

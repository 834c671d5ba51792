// Examples as a model's trainer takes them: what the lines of data files are for each kind of model, and the batches
// that are made of them.
#ifndef VKF_PROGRAM_TRAIN_DATA_H
#define VKF_PROGRAM_TRAIN_DATA_H

#include <vkformer/train.h>

#include "ranks/ranks.h"
#include "train/example_tokens.h"
#include "train/masking.h"
#include "train/train_config.h"

typedef enum vkf_train_task {
    VKF_TASK_TRANSLATE = 0, // SEQ2SEQ: pairs
    VKF_TASK_CONTINUE,      // DECODER: texts, each of whose tokens is to follow from those before it
    VKF_TASK_CLASSIFY,      // ENCODER with a head for sequences: texts and their classes
    VKF_TASK_EMBED,         // ENCODER without a head: pairs that belong together
    VKF_TASK_TAG,           // ENCODER with a head for tokens: words and their classes
    VKF_TASK_FILL,          // ENCODER with a head for masked words: texts, of which some tokens are to be filled in
    VKF_TASK_COUNT,
} vkf_train_task;

// What turns lines into ids: the model's.
typedef struct vkf_train_words {
    const vkf__host *host;
    vkf_train_task task;
    const vkf_model_config *config;
    vkf_tokenizer *tokenizer;
    vkf__token_tables tables; // in its place, where the model has a vocabulary.json
    bool has_tables;
    char **labels; // (label_count), of CLASSIFY and TAG
    uint32_t label_count;
    int32_t mask_id; // of FILL
} vkf_train_words;

// Reads the tokenizer and the classes' names in the model's directory. The config must outlive the words, which are to
// be freed whether this succeeds or not. Statuses: UNSUPPORTED (no lines of data say what such a model learns, or its
// tokenizer has no mask that it would need), those of the files.
VKF_MUST_CHECK vkf_status vkf_train_words_load(const vkf__host *host, const char *directory,
                                               const vkf_model_config *config, vkf_train_words *out_words);
void vkf_train_words_free(vkf_train_words *words);

// Room for a batch, and what is in it.
typedef struct vkf_train_slot {
    int32_t *memory;
    vkf_train_batch batch;
    uint64_t tokens; // of source and target, without padding
} vkf_train_slot;

// Files of examples, cut into batches.
typedef struct vkf_train_data {
    const vkf_train_words *words;
    vkf_examples *examples;
    vkf_example_tokens tokens;
    vkf_masking masking; // of FILL
    vkf_batches *batches;
    vkf_batch_sizes sizes; // of the largest batch: what a trainer has to be made for
    vkf_train_slot *slots; // (slot_count)
    uint32_t slot_count;
} vkf_train_data;

// The data keep `words`, and are to be freed whether this succeeds or not. `slots`: how many batches there is room for.
// Of the batches each of the ranks has others; NULL: all of them are this one's. Statuses: those of
// vkf_examples_open(), vkf_batches_create().
VKF_MUST_CHECK vkf_status vkf_train_data_open(const vkf_train_words *words, const vkf_train_config *config,
                                              const vkf_train_texts *paths, uint32_t slots, const vkf_ranks *ranks,
                                              vkf_train_data *out_data);
void vkf_train_data_free(vkf_train_data *data);

// Fills a slot with the batch of that number. Statuses: those of vkf_batches_get().
VKF_MUST_CHECK vkf_status vkf_train_data_take(vkf_train_data *data, uint64_t number, uint32_t slot);

#endif

// Examples as a model's trainer takes them: what the lines of data files are for each kind of model, and the batches
// that are made of them.
#ifndef VKF_PROGRAM_TRAIN_DATA_H
#define VKF_PROGRAM_TRAIN_DATA_H

#include <vkformer/train.h>

#include "ranks/ranks.h"
#include "train/batches.h"
#include "train/masking.h"
#include "train/pieces.h"
#include "train/train_words.h"

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
    vkf_pieces pieces;   // what batches are made of
    vkf_masking masking; // of FILL
    vkf_batches *batches;
    vkf_batch_sizes sizes; // of the largest batch: what a trainer has to be made for
    vkf_train_slot *slots; // (slot_count)
    uint32_t slot_count;
} vkf_train_data;

// The data keep `words`, and are to be freed whether this succeeds or not. `slots`: how many batches there is room for.
// Each of the ranks has other batches; NULL: all of them are this one's. Statuses: those of
// vkf_examples_open(), vkf_pieces_open(), vkf_batches_create().
VKF_MUST_CHECK vkf_status vkf_train_data_open(const vkf_train_words *words, const vkf_train_config *config,
                                              const vkf_train_goal *goal, const vkf_train_texts *paths, uint32_t slots,
                                              const vkf_ranks *ranks, vkf_train_data *out_data);
void vkf_train_data_free(vkf_train_data *data);

// Fills a slot with the batch of that number. Statuses: those of vkf_batches_get().
VKF_MUST_CHECK vkf_status vkf_train_data_take(vkf_train_data *data, uint64_t number, uint32_t slot);

#endif

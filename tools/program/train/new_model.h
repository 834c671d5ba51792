// A model in which nothing is learned yet, as a directory like any other.
#ifndef VKF_PROGRAM_NEW_MODEL_H
#define VKF_PROGRAM_NEW_MODEL_H

#include "train/train_goal.h"

// Makes the directory `path`: config.json and model.safetensors with the sizes of the config, and its tokenizer's
// files. The weights are drawn by the config's seed: see vkf_draw_weights(). Statuses: FILE, FORMAT, INVALID_ARGUMENT
// (vocabularies that cannot share an embedding), UNSUPPORTED (the tokenizer has no token that such a model needs),
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_new_model_write(const vkf__host *host, const vkf_train_config *config, const char *path);

// The same of the goal's model with the head that is to be drawn: its config.json with the head's class and, unless
// they are there already, its classes (id2label, label2id), its weights in one file, and its tokenizer's files.
// Statuses: as above, and those of vkf_draw_weights().
VKF_MUST_CHECK vkf_status vkf_new_head_write(const vkf__host *host, const vkf_train_config *config,
                                             const vkf_train_goal *goal, const char *path);

#endif

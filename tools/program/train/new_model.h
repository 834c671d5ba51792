// A model in which nothing is learned yet, as a directory like any other.
#ifndef VKF_PROGRAM_NEW_MODEL_H
#define VKF_PROGRAM_NEW_MODEL_H

#include "train/train_config.h"

// Makes the directory `path`: an encoder-decoder with the sizes of the config and the vocabulary.json of its tokenizer.
// Weights are drawn by the config's seed as torch.nn.Transformer draws them: matrices from Xavier's uniform
// distribution (Glorot and Bengio 2010), norms 1 and 0; embeddings are normal with the deviation d_model^-0.5, which
// the factor sqrt(d_model) before the first layer makes 1. Statuses: FILE, FORMAT, INVALID_ARGUMENT (vocabularies that
// cannot share an embedding), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_new_model_write(const vkf__host *host, const vkf_train_config *config, const char *path);

#endif

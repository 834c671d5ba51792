// The weights of a new model.
#ifndef VKF_PROGRAM_NEW_WEIGHTS_H
#define VKF_PROGRAM_NEW_WEIGHTS_H

#include "io/checkpoint.h"
#include "train/train_config.h"

// Writes model.safetensors beside the config.json of the directory: what a model of that configuration reads, under the
// names that a file of it has. All is drawn by the seed.
//
// Matrices of torch.nn.Transformer come from Xavier's uniform distribution (Glorot and Bengio 2010); embeddings are
// normal with the deviation d_model^-0.5, which the factor sqrt(d_model) before the first layer makes 1. The families
// begin as in transformers: matrices and embeddings are normal with the deviation 0.02, which for the last matrices of
// GPT-2's blocks is divided by sqrt(2 n_layer), as so many results add up; rows of padding are 0. Norms are 1 and 0.
//
// Statuses: FILE, FORMAT (no such model can be made), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_new_weights_write(const vkf__host *host, const vkf_train_config *config,
                                                const char *directory);

// The same for a model that is there but for its head, as config.json of the directory asks for it: the tensors that
// the checkpoint has are written as they are, under the names that a model with a head has, and a warning names those
// that are drawn. As in transformers matrices are normal with this deviation, and biases 0. Other tensors of the
// checkpoint, such as another head's, are left out. Statuses: as above; FORMAT (what is missing is not the head's).
VKF_MUST_CHECK vkf_status vkf_new_head_weights_write(const vkf__host *host, const vkf_train_config *config,
                                                     const vkf__checkpoint *checkpoint, double deviation,
                                                     const char *directory);

#endif

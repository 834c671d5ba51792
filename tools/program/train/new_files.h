// What the directory of a new model has: config.json, the tokenizer's files and the weights.
#ifndef VKF_PROGRAM_NEW_FILES_H
#define VKF_PROGRAM_NEW_FILES_H

#include "train/train_config.h"

#define VKF_NEW_DEVIATION 0.02 // of the normal distribution that weights of the families begin with

// Writes those of torch.nn.Transformer, with a vocabulary.json. Statuses: those of vkf_new_model_write().
VKF_MUST_CHECK vkf_status vkf_new_transformer_files(const vkf__host *host, const vkf_train_config *config,
                                                    const char *directory);

// Writes those of a family, with a tokenizer.json and the files beside it, under the names and keys of Hugging Face's
// transformers. Statuses: as above.
VKF_MUST_CHECK vkf_status vkf_new_family_files(const vkf__host *host, const vkf_train_config *config,
                                               const char *directory);

// Where from_directory has the file, copies it to `directory`. Whether it has *out_there says, unless it is NULL.
// Statuses: FILE, FORMAT (it is larger than any such file), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf_new_file_copy(const vkf__host *host, const char *from_directory, const char *name,
                                            const char *directory, bool *out_there);

// Writes model.safetensors by vkf_draw_weights(), with the config's seed. `from` may be NULL. Statuses: as there.
VKF_MUST_CHECK vkf_status vkf_new_weights_write(const vkf__host *host, const vkf_train_config *config, const char *from,
                                                const char *directory);

#endif

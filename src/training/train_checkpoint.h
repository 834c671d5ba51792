// What of a training is written to files: a model with its trained weights, in the form in which it was read, or an
// adapter alone, and beside it what the optimiser and the counters were at.
//
// A checkpoint is a directory with both. It is there whole or not at all, whoever was killed while making it.
#ifndef VKF_TRAINING_TRAIN_CHECKPOINT_H
#define VKF_TRAINING_TRAIN_CHECKPOINT_H

#include "training/lora.h"

typedef struct vkf__train_state {
    uint64_t step, skipped, examples, seed;
    float loss_scale;
    uint32_t loss_scale_counted;
    double best;
    uint64_t best_step;
    uint64_t settings; // a hash of what must not change within a training
    uint64_t base;     // a hash of the weights that an adapter is beside; 0: there is no adapter
} vkf__train_state;

// Writes a trainable model's tensors to one file, safetensors in F32: under the names and in the shapes of the file
// that it was read from, and with the tensors which that file has besides, unless they are others under a second name.
// A model that came from no directory gets its own tensors alone. Statuses: UNSUPPORTED (embedding modules have weights
// in files of their own: save a directory), FILE, OUT_OF_HOST_MEMORY, and those of a transfer.
VKF_MUST_CHECK vkf_status vkf__checkpoint_save_weights(vkf_model *model, const char *path);
// Reads the weights of such a file, or of a directory as vkf__checkpoint_save() makes it, into a model of the same
// configuration. With `check` everything is read and checked, and nothing changes. Further statuses: FORMAT (a tensor
// is missing, has another shape or is not finite).
VKF_MUST_CHECK vkf_status vkf__checkpoint_load_weights(vkf_model *model, const char *path, bool check);

// Moments and counters, as one file. Loading fails unless the file is of a training of the same parameters with the
// same `settings` and `base`, which *state has on entry. With `check` all is read and checked, and nothing changes.
// Statuses: FORMAT (the file is none of these, or of another model, or a moment is not finite; the message says in
// what), INVALID_ARGUMENT (other settings), FILE, OUT_OF_HOST_MEMORY, and those of a transfer.
VKF_MUST_CHECK vkf_status vkf__checkpoint_save_state(const vkf__parameters *parameters, const vkf__train_state *state,
                                                     const char *path);
VKF_MUST_CHECK vkf_status vkf__checkpoint_load_state(const vkf__parameters *parameters, const char *path, bool check,
                                                     vkf__train_state *inout_state);
// The counters of a checkpoint's directory alone. Statuses: FORMAT, FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__checkpoint_read_state(const vkf__host *host, const char *directory,
                                                     vkf__train_state *out_state);

// Makes the directory `path`, which is not there or empty: the model's own directory once more, as far as a model needs
// it, with the trained weights, or the adapter alone where `adapter` is not NULL; and VKF_CHECKPOINT_FILE where
// `parameters` is not NULL.
VKF_MUST_CHECK vkf_status vkf__checkpoint_save(vkf_model *model, const vkf__lora *adapter,
                                               const vkf__parameters *parameters, const vkf__train_state *state,
                                               const char *path);

// For the files beside this one: writes the tensors of `module` (0: the model's own), and from `source` (may be NULL)
// those that are not the model's.
VKF_MUST_CHECK vkf_status vkf__write_module(vkf_model *model, uint32_t module, const vkf__checkpoint *source,
                                            const char *path);

#endif

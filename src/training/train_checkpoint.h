// What of a training is written to files: a model with its trained weights, in the form in which it was read, and
// beside it what the optimiser and the counters were at.
//
// A checkpoint is a directory ROOT/step-NUMBER with both. It is there whole or not at all, whoever was killed while
// making or removing it.
#ifndef VKF_TRAINING_TRAIN_CHECKPOINT_H
#define VKF_TRAINING_TRAIN_CHECKPOINT_H

#include "training/parameters.h"

typedef struct vkf__train_state {
    uint64_t step, skipped, examples, seed;
    float loss_scale;
    uint32_t loss_scale_counted;
    double best;
    uint64_t best_step;
    uint64_t settings; // a hash of what must not change within a training
} vkf__train_state;

// Writes a trainable model's tensors to one file, safetensors in F32: under the names and in the shapes of the file
// that it was read from, and with the tensors which that file has besides, unless they are others under a second name.
// A model that came from no directory gets its own tensors alone. Statuses: UNSUPPORTED (embedding modules have weights
// in files of their own: save a directory), FILE, OUT_OF_HOST_MEMORY, and those of a transfer.
VKF_MUST_CHECK vkf_status vkf__checkpoint_save_weights(vkf_model *model, const char *path);
// Reads the weights of such a file, or of a directory as vkf__checkpoint_save() makes it, into a model of the same
// configuration. All tensors are checked before the first is written. Further statuses: FORMAT (a tensor is missing,
// has another shape or is not finite).
VKF_MUST_CHECK vkf_status vkf__checkpoint_load_weights(vkf_model *model, const char *path);

// Moments and counters, as one file. Loading fails without a change of anything unless the file is of a training of the
// same parameters with the same `settings`, which *state has on entry. Statuses: FORMAT (the file is none of these, or
// of another model; the message says in what), INVALID_ARGUMENT (other settings), FILE, OUT_OF_HOST_MEMORY, and those
// of a transfer.
VKF_MUST_CHECK vkf_status vkf__checkpoint_save_state(const vkf__parameters *parameters, const vkf__train_state *state,
                                                     const char *path);
VKF_MUST_CHECK vkf_status vkf__checkpoint_load_state(const vkf__parameters *parameters, const char *path,
                                                     vkf__train_state *inout_state);

#define VKF_TRAIN_STATE_FILE "training.safetensors"

// Makes the directory `path`, which is not there or empty: the model's own directory once more, as far as a model needs
// it, with the trained weights, and VKF_TRAIN_STATE_FILE where `parameters` is not NULL.
VKF_MUST_CHECK vkf_status vkf__checkpoint_save(vkf_model *model, const vkf__parameters *parameters,
                                               const vkf__train_state *state, const char *path);

// The path of a step's directory; vkf__free() releases it.
VKF_MUST_CHECK vkf_status vkf__step_path(const vkf__host *host, const char *root, uint64_t step, char **out_path);
// The last step that has a directory. False: there is none.
bool vkf__last_step(const char *root, uint64_t *out_step);
// Removes the directories of all steps but the last `most`, and what killed processes left of others.
VKF_MUST_CHECK vkf_status vkf__keep_steps(const vkf__host *host, const char *root, uint32_t most);

// For the files beside this one: writes the tensors of `module` (0: the model's own), and from `source` (may be NULL)
// those that are not the model's.
VKF_MUST_CHECK vkf_status vkf__write_module(vkf_model *model, uint32_t module, const vkf__checkpoint *source,
                                            const char *path);

#endif

// The checkpoints of a run's steps: directories ROOT/step-NUMBER.
#ifndef VKF_PROGRAM_TRAIN_STEPS_H
#define VKF_PROGRAM_TRAIN_STEPS_H

#include "base/host.h"

// Whether a directory of this name is a checkpoint, by the file that nothing else has.
bool vkf_train_is_checkpoint(const char *root, const char *name);

// The path of a step's directory; vkf__free() releases it.
VKF_MUST_CHECK vkf_status vkf_train_step_path(const vkf__host *host, const char *root, uint64_t step, char **out_path);
// The last step that has a checkpoint. False: there is none.
bool vkf_train_last_step(const char *root, uint64_t *out_step);
// Whether a name is that of a step's directory.
bool vkf_train_is_step(const char *name, uint64_t *out_step);
// Removes the checkpoints of all steps but the last `most`, and what killed processes left of others. Directories that
// are no checkpoints stay, whatever their names.
VKF_MUST_CHECK vkf_status vkf_train_keep_steps(const vkf__host *host, const char *root, uint32_t most);

#endif

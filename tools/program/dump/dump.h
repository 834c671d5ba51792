// What `--dump DIR` writes: a safetensors file for each submission of a run. It has what the dispatches wrote, in their
// order, under PyTorch's names.
#ifndef VKF_PROGRAM_DUMP_H
#define VKF_PROGRAM_DUMP_H

#include <vkformer/vkformer.h>

#include "base/host.h"

// The prefix of names for what no module of PyTorch's has: "vkformer:encoder.0.self_attn.q_rotary".
#define VKF_DUMP_OWN "vkformer:"

typedef struct vkf_dump vkf_dump;

// `directory` is made, or exists and is empty. The model's directory tells how tensors are named. False: the reason has
// been printed.
bool vkf_dump_begin(const char *directory, const char *model_directory, vkf_message_fn message, void *message_user,
                    vkf_dump **out_dump);

// A vkf_probe_fn with a vkf_dump as `user`. A submission's file is written when the next submission begins. False:
// memory is exhausted or a file cannot be written, and the reason has been printed.
bool vkf_dump_take(void *user, const vkf_probe_output *output);

// Writes the run's input tokens, (batch, length), to DIR/input.safetensors. False: as above.
bool vkf_dump_write_ids(vkf_dump *dump, const int32_t *ids, uint32_t batch, uint32_t length);

// Writes the last submission's file if the run has ended well. For a run that was broken off nothing is written, and an
// empty directory is removed. False: as above.
bool vkf_dump_end(vkf_dump **dump, bool whole);

#endif

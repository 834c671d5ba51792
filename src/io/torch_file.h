// Reader of what torch.save() writes for a dict of tensors, in today's form (a zip archive) and in the form before
// PyTorch 1.6. Only the names, types and places of tensors are read from its pickle; nothing is executed.
#ifndef VKF_IO_TORCH_FILE_H
#define VKF_IO_TORCH_FILE_H

#include "io/tensor_file.h"

// Opens the file and finds its tensors: those of the dict that it holds or, where that has none, those of the first
// dict that it has under "state_dict", "model" or "model_state_dict". Other members are left out. Tensors may share
// their bytes, as tied ones do. Statuses:
// - FORMAT: not a file of torch.save(), or one that is cut off or damaged; a pickle above 16 MiB; a storage that is
//   missing, has two types, or has a key that is no name; a tensor beyond its storage or of a rank above 8; a duplicate
//   name; a BOOL other than 0 and 1.
// - UNSUPPORTED: no dict of tensors, or a pickle that asks for something else, which the message names; TorchScript;
//   entries that are compressed or encrypted; a tensor that is not contiguous, or whose name is not printable ASCII; a
//   storage that is a part of another; a dict that is made from a list; a file of a big-endian machine.
// - FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__torch_open(const vkf__host *host, const char *path, vkf__tensor_file **out_file);

// The same for a file's bytes that are already in memory. They must outlive *out_file, because the tensors point into
// them; `path` only serves the messages.
VKF_MUST_CHECK vkf_status vkf__torch_open_memory(const vkf__host *host, const char *path, const uint8_t *data,
                                                 size_t size_bytes, vkf__tensor_file **out_file);

#endif

// Reader of what torch.save() writes of a dict of tensors, in its form of today (a zip archive) and the one before
// PyTorch 1.6. Of the pickle in it only the names, types and places of tensors are read; nothing is executed.
#ifndef VKF_IO_TORCH_FILE_H
#define VKF_IO_TORCH_FILE_H

#include "io/tensor_file.h"

// Opens the file and finds its tensors: those of the dict that it holds or, where there are none in it, of the first
// dict that this has under "state_dict", "model" or "model_state_dict". Other members are left out. Tensors may share
// their bytes, as tied ones do. Statuses:
// - FORMAT: not torch.save()'s, cut off or damaged; a pickle above 16 MiB; a storage that is missing, of two types, or
//   whose key is no name; a tensor beyond its storage or of a rank above 8; a name twice; a BOOL other than 0 and 1.
// - UNSUPPORTED: no dict of tensors, or a pickle that asks for something else, which the message names; TorchScript;
//   entries that are compressed or encrypted; a tensor that is not contiguous, or whose name is not of printable ASCII;
//   a storage that is a part of another; a dict that is made from a list; a big-endian machine's file.
// - FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__torch_open(const vkf__host *host, const char *path, vkf__tensor_file **out_file);

// The same for a file's bytes that are in memory already and outlive *out_file, as the tensors are then; `path` only
// serves the messages.
VKF_MUST_CHECK vkf_status vkf__torch_open_memory(const vkf__host *host, const char *path, const uint8_t *data,
                                                 size_t size_bytes, vkf__tensor_file **out_file);

#endif

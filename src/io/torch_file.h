// Reader of what torch.save() writes of a dict of tensors, in its form of today (a zip archive) and the one before
// PyTorch 1.6. Of the pickle in it only the names, types and places of tensors are read; nothing is executed.
#ifndef VKF_IO_TORCH_FILE_H
#define VKF_IO_TORCH_FILE_H

#include "io/tensor_file.h"

// Opens the file and finds its tensors: those of the dict that it holds, or of the one that this has under "state_dict" or
// "model"; other members are left out. Tensors may share their bytes, as tied ones do. Statuses: FORMAT (cut off, damaged,
// a tensor beyond its storage, a name twice, a BOOL other than 0 and 1), UNSUPPORTED (asks for something that is no dict
// of tensors, by name; compressed entries; a tensor that is not contiguous; big-endian), FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__torch_open(const vkf__host *host, const char *path, vkf__tensor_file **out_file);

// The same for a file's bytes that are in memory already and outlive *out_file, as the tensors are then; `path` only
// serves the messages.
VKF_MUST_CHECK vkf_status vkf__torch_open_memory(const vkf__host *host, const char *path, const uint8_t *data,
                                                 size_t size_bytes, vkf__tensor_file **out_file);

#endif

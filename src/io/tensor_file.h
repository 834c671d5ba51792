// A file of tensors in one of the formats that are read. What is in it is found once, when it is opened.
#ifndef VKF_IO_TENSOR_FILE_H
#define VKF_IO_TENSOR_FILE_H

#include <jansson.h>

#include "io/stored_tensor.h"

typedef struct vkf__tensor_file vkf__tensor_file;

// The ending of its name tells the format: .bin, .pt and .pth are torch.save()'s, anything else is safetensors.
// Statuses as vkf__safetensors_open() and vkf__torch_open().
VKF_MUST_CHECK vkf_status vkf__tensor_file_open(const vkf__host *host, const char *path, vkf__tensor_file **out_file);
void vkf__tensor_file_close(vkf__tensor_file **file);

size_t vkf__tensor_file_count(const vkf__tensor_file *file);
// Tensors are in the order of their names (by bytes); NULL at and beyond the count.
const vkf__stored_tensor *vkf__tensor_file_at(const vkf__tensor_file *file, size_t index);
const vkf__stored_tensor *vkf__tensor_file_find(const vkf__tensor_file *file, const char *name); // NULL when absent
const char *vkf__tensor_file_path(const vkf__tensor_file *file);
// An object of strings that the file has beside its tensors; NULL: none. It belongs to the file.
json_t *vkf__tensor_file_metadata(const vkf__tensor_file *file);
// Whoever reads BOOL tensors checks first that their elements are 0 or 1. Statuses: FORMAT, and as vkf__file_read_at().
VKF_MUST_CHECK vkf_status vkf__tensor_file_check_bools(const vkf__tensor_file *file);
// Status FILE when the file was written to since it was opened; as vkf__file_check_unchanged().
VKF_MUST_CHECK vkf_status vkf__tensor_file_check_unchanged(const vkf__tensor_file *file);

#endif

// Strict reader of the safetensors format, and its writer.
#ifndef VKF_IO_SAFETENSORS_H
#define VKF_IO_SAFETENSORS_H

#include "base/new_file.h"
#include "io/tensor_file.h"

// Opens the file and checks its whole header. FORMAT has a message of its own for each of these: file shorter than 8
// bytes; header longer than the file or than 100 MB; header not a JSON object or not UTF-8; duplicate tensor name; NUL
// in a name; unknown dtype; shape with a negative, fractional or absurd entry, or overflowing; rank above 8;
// data_offsets malformed, beyond the file, disagreeing with shape and dtype, overlapping, or leaving a hole; bytes
// after the last tensor; a BOOL other than 0 and 1; "__metadata__" that is not an object of strings. Keys other than
// dtype, shape and data_offsets are ignored, as the format's own reader ignores them. The tensors stay in the file,
// which stays open. *out_file keeps a copy of *host. Other statuses: FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__safetensors_open(const vkf__host *host, const char *path, vkf__tensor_file **out_file);

// The same for a file's bytes that are already in memory. They must outlive *out_file, because the tensors point into
// them; `path` only serves the messages.
VKF_MUST_CHECK vkf_status vkf__safetensors_open_memory(const vkf__host *host, const char *path, const uint8_t *data,
                                                       size_t size_bytes, vkf__tensor_file **out_file);

// Writes tensors (wide types first, then by name, no holes) to `path` through a temporary file beside it, so that a
// failure leaves nothing half-written. The caller's tensor array is not reordered; `count` and `offset_bytes` of a
// tensor in memory are not read. Statuses: INVALID_ARGUMENT (for what the reader would refuse), TOO_LARGE (header above
// 100 MB), FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__safetensors_write(const vkf__host *host, const char *path,
                                                 const vkf__stored_tensor *tensors, size_t count);

// The same, but tensors of the same type keep the order of the array.
VKF_MUST_CHECK vkf_status vkf__safetensors_write_as_given(const vkf__host *host, const char *path,
                                                          const vkf__stored_tensor *tensors, size_t count);

// Appends the bytes of a tensor in memory or in a file. Statuses: FILE, OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__new_file_write_tensor(vkf__new_file *file, const vkf__stored_tensor *tensor);

// Like vkf__safetensors_write(), for tensors whose bytes are made while they are written: `write` appends the
// size_bytes of tensor `index` to the file. It is called once for each tensor, in the file's order; its failure fails
// the whole. `metadata` is an object of strings that the file has beside the tensors; NULL: none.
typedef vkf_status (*vkf__tensor_write_fn)(void *user, size_t index, vkf__new_file *file);
VKF_MUST_CHECK vkf_status vkf__safetensors_write_made(const vkf__host *host, const char *path,
                                                      const vkf__stored_tensor *tensors, size_t count, json_t *metadata,
                                                      vkf__tensor_write_fn write, void *user);

#endif

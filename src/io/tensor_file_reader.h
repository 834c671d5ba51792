// What the readers of the formats share: an opened file, which they fill.
#ifndef VKF_IO_TENSOR_FILE_READER_H
#define VKF_IO_TENSOR_FILE_READER_H

#include "io/byte_source.h"
#include "io/tensor_file.h"

struct vkf__tensor_file {
    vkf__host host;
    vkf__file *opened; // NULL when the caller keeps the bytes
    char *path;
    char *names;                 // all names, zero-terminated, one after the other
    vkf__stored_tensor *tensors; // sorted by name
    size_t count;
    json_t *metadata; // of strings, by key; NULL: none
};

// Fills in names and tensors, in any order, and the count. After a failure, its caller releases what it has allocated
// there. What *source points to lives as long as the file.
typedef vkf_status (*vkf__tensor_reader)(vkf__tensor_file *file, const vkf__byte_source *source);

// Opens the file, reads it and sorts what was found. Statuses: FILE, OUT_OF_HOST_MEMORY, FORMAT (a duplicate name), and
// the reader's.
VKF_MUST_CHECK vkf_status vkf__tensor_file_read(const vkf__host *host, const char *path, vkf__tensor_reader reader,
                                                vkf__tensor_file **out_file);
// The same for bytes in memory, which must outlive *out_file; `path` only serves the messages.
VKF_MUST_CHECK vkf_status vkf__tensor_file_read_memory(const vkf__host *host, const char *path, const uint8_t *data,
                                                       size_t size_bytes, vkf__tensor_reader reader,
                                                       vkf__tensor_file **out_file);

#endif

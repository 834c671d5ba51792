// Files of a caller's source, which stands for a directory: see <vkformer/file_source.h>. A host has such a source
// while a model or a tokenizer is loaded from one.
#ifndef VKF_IO_SOURCE_FILE_H
#define VKF_IO_SOURCE_FILE_H

#include <vkformer/file_source.h>

#include "base/host.h"

// A host whose files are those of `files` (NULL: of the file system). `directory` is the name that stands before
// theirs; both have to live as long as the host is used.
vkf__host vkf__host_with_files(const vkf__host *host, const vkf_file_source *files, const char *directory);

// Status INVALID_ARGUMENT where a source lacks a callback; `function` is for the message. NULL passes.
VKF_MUST_CHECK vkf_status vkf__source_check(const vkf__host *host, const vkf_file_source *files, const char *function);

// For hosts with a source. Statuses: FILE.
VKF_MUST_CHECK vkf_status vkf__source_file_size(const vkf__host *host, const char *path, uint64_t *out_size_bytes);
VKF_MUST_CHECK vkf_status vkf__source_file_read_at(const vkf__host *host, const char *path, uint64_t offset,
                                                   void *out_bytes, size_t size_bytes);
void vkf__source_file_close(const vkf__host *host, const char *path);
bool vkf__source_file_exists(const vkf__host *host, const char *path);

#endif

// Buffers on memory that is shared with other processes, programs and devices.
#ifndef VKF_VK_EXTERNAL_MEMORY_H
#define VKF_VK_EXTERNAL_MEMORY_H

#include "vk/buffer.h"

// Content is undefined. Statuses: INVALID_ARGUMENT, UNSUPPORTED (the device was not made for it, or does not offer it),
// and those of vkf__buffer_create().
VKF_MUST_CHECK vkf_status vkf__buffer_create_exportable(vkf__transfer *transfer, vkf_memory_kind kind,
                                                        uint64_t size_bytes, const char *name, vkf_buffer **out_buffer);
VKF_MUST_CHECK vkf_status vkf__buffer_export(vkf_buffer *buffer, vkf_exported_memory *out_memory);
VKF_MUST_CHECK vkf_status vkf__buffer_import(vkf__transfer *transfer, const vkf_imported_memory *from,
                                             vkf_buffer **out_buffer);

#endif

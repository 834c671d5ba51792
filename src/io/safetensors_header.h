// The JSON header of a safetensors file: private to the reader and the writer.
#ifndef VKF_IO_SAFETENSORS_HEADER_H
#define VKF_IO_SAFETENSORS_HEADER_H

#include <jansson.h>

#include "io/safetensors.h"

#define VKF_SAFETENSORS_MAX_HEADER 100000000 // bytes, as the format's own reader has it
#define VKF_SAFETENSORS_METADATA "__metadata__"

// Where an entry is checked: the data area from which offsets count, and the file's name for messages.
typedef struct vkf__safetensors_area {
    const vkf__host *host;
    const char *path;
    const vkf__file *file; // NULL where the bytes are in memory
    const uint8_t *data;   // of the area; NULL where they are in the file
    uint64_t begin_bytes;  // where the area begins in the file
    uint64_t size_bytes;
} vkf__safetensors_area;

// Parses the header's text into its JSON object. "__metadata__" is checked and taken out of it: *out_metadata stays
// NULL where there is none. Both are released with json_decref().
VKF_MUST_CHECK vkf_status vkf__safetensors_parse_header(const vkf__safetensors_area *area, const char *text,
                                                        size_t text_bytes, json_t **out_root, json_t **out_metadata);

// Reads and checks one entry on its own, but not the tensor's bytes. The tensor keeps the pointer `name`.
VKF_MUST_CHECK vkf_status vkf__safetensors_parse_entry(const vkf__safetensors_area *area, const char *name,
                                                       const json_t *entry, vkf__stored_tensor *out_tensor);

#endif

// Reads JSON objects from files, with jansson. Errors name the file, the key and the reason.
#ifndef VKF_IO_JSON_FILE_H
#define VKF_IO_JSON_FILE_H

#include <jansson.h>

#include "base/host.h"

#define VKF_JSON_MAX_BYTES ((size_t)32 << 20) // of a file

// Reads a file whose top level is a JSON object, as Python's json reads it: of a key that is there twice the last value
// holds, 64.0 is the whole number 64, and numbers may be of any size. NaN, Infinity and what is as large as that become
// strings, of which typed reads say that they are no finite numbers. *out_root is released with json_decref().
// Statuses: FILE, FORMAT (with line and column; also for a file above VKF_JSON_MAX_BYTES), OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__json_load(const vkf__host *host, const char *path, json_t **out_root);

// The same for a file that is to be written again: 64.0 stays what it is, as transformers wants a float where a float
// was. NaN, Infinity and numbers of more than 64 bits are as above.
VKF_MUST_CHECK vkf_status vkf__json_load_as_written(const vkf__host *host, const char *path, json_t **out_root);

// The same for a file whose top level is an array.
VKF_MUST_CHECK vkf_status vkf__json_load_array(const vkf__host *host, const char *path, json_t **out_root);

// vkf__json_load() for text that is in memory already; `path` only serves the messages.
VKF_MUST_CHECK vkf_status vkf__json_parse(const vkf__host *host, const char *path, const char *text, size_t text_bytes,
                                          json_t **out_root);

// Whether an object, which may be NULL, has the key with a value other than null. False for a key of NULL.
bool vkf__json_has(const json_t *object, const char *key);

// Typed reads of a required key, whose value is within [min, max]; `path` only serves the message. Status FORMAT.
VKF_MUST_CHECK vkf_status vkf__json_u32(const vkf__host *host, const char *path, const json_t *object, const char *key,
                                        uint32_t min, uint32_t max, uint32_t *out_value);
VKF_MUST_CHECK vkf_status vkf__json_bool(const vkf__host *host, const char *path, const json_t *object, const char *key,
                                         bool *out_value);
// Any number, whole or not, that is finite as a float32.
VKF_MUST_CHECK vkf_status vkf__json_f32(const vkf__host *host, const char *path, const json_t *object, const char *key,
                                        float *out_value);
// The string belongs to `object`.
VKF_MUST_CHECK vkf_status vkf__json_string(const vkf__host *host, const char *path, const json_t *object,
                                           const char *key, const char **out_value);

#endif

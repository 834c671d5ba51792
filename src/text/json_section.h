// A part of a tokenizer file, with its name for messages: "tokenizer.json: normalizer.normalizers[2]".
#ifndef VKF_TEXT_JSON_SECTION_H
#define VKF_TEXT_JSON_SECTION_H

#include "io/json_file.h"

#define VKF_SECTION_NAME_BYTES 512
#define VKF_SECTION_MAX_DEPTH 32  // of sequences within sequences
#define VKF_SECTION_MAX_STEPS 128 // of a sequence, including those of sequences in it

typedef struct vkf__json_section {
    const vkf__host *host;
    const json_t *object; // the section itself, of any type
    unsigned depth;
    char where[VKF_SECTION_NAME_BYTES];
} vkf__json_section;

// The value of a key, which must exist and not be null. Status FORMAT.
VKF_MUST_CHECK vkf_status vkf__section_get(const vkf__json_section *section, const char *key,
                                           vkf__json_section *out_section);
// The same; *out_found is false for a key that is missing or null.
VKF_MUST_CHECK vkf_status vkf__section_find(const vkf__json_section *section, const char *key, bool *out_found,
                                            vkf__json_section *out_section);
// An element of an array.
void vkf__section_element(const vkf__json_section *section, size_t index, vkf__json_section *out_section);

// Status FORMAT when the section is not of that type.
VKF_MUST_CHECK vkf_status vkf__section_is_object(const vkf__json_section *section);
VKF_MUST_CHECK vkf_status vkf__section_is_array(const vkf__json_section *section);

// Read a key that may be missing or null: then *inout_value stays as it is.
VKF_MUST_CHECK vkf_status vkf__section_bool(const vkf__json_section *section, const char *key, bool *inout_value);
VKF_MUST_CHECK vkf_status vkf__section_u32(const vkf__json_section *section, const char *key, uint32_t max,
                                           uint32_t *inout_value);
VKF_MUST_CHECK vkf_status vkf__section_string(const vkf__json_section *section, const char *key,
                                              const char **inout_value);
// Reads a string of one code point; the key must exist.
VKF_MUST_CHECK vkf_status vkf__section_code_point(const vkf__json_section *section, const char *key,
                                                  uint32_t *out_value);

// Reads a key whose value, if there is one, is one of the names; its number goes to *inout_value. Statuses: FORMAT,
// UNSUPPORTED (with the list of names).
VKF_MUST_CHECK vkf_status vkf__section_choice(const vkf__json_section *section, const char *key,
                                              const char *const *names, size_t count, size_t *inout_value);
// Finds the kind that the key "type", which must exist, names: its place in a table whose rows are of `stride` bytes
// and begin with a name. Statuses: as above.
VKF_MUST_CHECK vkf_status vkf__section_type(const vkf__json_section *section, const void *table, size_t stride,
                                            size_t count, size_t *out_index);

// Calls `load` for the section. For a "Sequence", it calls it for every element of the array `key` instead, and for the
// elements of sequences among these. FORMAT when there are more than VKF_SECTION_MAX_STEPS.
typedef vkf_status (*vkf__section_fn)(const vkf__json_section *section, void *user);
VKF_MUST_CHECK vkf_status vkf__section_each(const vkf__json_section *section, const char *key, vkf__section_fn load,
                                            void *user);

#endif

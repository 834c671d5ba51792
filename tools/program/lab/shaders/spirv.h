// Reads what a pipeline has to agree with from a SPIR-V module: capabilities, bindings, push constants, specialisation
// constants and workgroup size. It trusts nothing in the module.
#ifndef VKF_PROGRAM_SPIRV_H
#define VKF_PROGRAM_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPIRV_MAX 64
#define SPIRV_NONE UINT32_MAX

// The values are those of VkDescriptorType.
typedef enum spirv_binding_kind {
    SPIRV_SAMPLER = 0,
    SPIRV_COMBINED_IMAGE_SAMPLER = 1,
    SPIRV_SAMPLED_IMAGE = 2,
    SPIRV_STORAGE_IMAGE = 3,
    SPIRV_TEXEL_BUFFER = 4,
    SPIRV_STORAGE_TEXEL_BUFFER = 5,
    SPIRV_UNIFORM_BLOCK = 6,
    SPIRV_STORAGE_BUFFER = 7,
} spirv_binding_kind;

typedef struct spirv_binding {
    uint32_t set;
    uint32_t binding;
    spirv_binding_kind kind;
    uint32_t count;      // of an array of bindings, otherwise 1
    uint32_t size_bytes; // up to the end of the last member, or to the beginning of a runtime array
} spirv_binding;

typedef enum spirv_number { SPIRV_BOOL = 0, SPIRV_INT, SPIRV_UINT, SPIRV_FLOAT } spirv_number;

typedef struct spirv_spec {
    uint32_t id;
    spirv_number type;
    uint32_t bits;
} spirv_spec;

typedef struct spirv_module {
    uint32_t version;
    uint32_t capabilities[SPIRV_MAX];
    size_t capability_count;
    spirv_binding bindings[SPIRV_MAX];
    size_t binding_count;
    uint32_t push_bytes; // 0: no push constants
    spirv_spec specs[SPIRV_MAX];
    size_t spec_count;
    char entry_point[64];        // of the first compute shader; "": none
    uint32_t local_size[3];      // as the module states it, before specialisation
    uint32_t local_size_spec[3]; // specialisation constants that give the workgroup size; SPIRV_NONE: fixed
    bool has_local_size;
} spirv_module;

// False, with a static reason, for a text that is not SPIR-V, for more entries than the arrays hold, and for bindings
// that no pipeline layout can have.
bool spirv_read(const uint32_t *words, size_t word_count, spirv_module *out_module, const char **out_why);

bool spirv_has_capability(const spirv_module *module, uint32_t capability);

// The specification's name, or "" for a capability that the table lacks.
const char *spirv_capability_name(uint32_t capability);

#endif

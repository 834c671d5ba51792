// Reads from a SPIR-V module what a pipeline has to agree with: capabilities, bindings, push constants, specialisation
// constants, workgroup size.
#ifndef VKF_TESTS_SPIRV_H
#define VKF_TESTS_SPIRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPIRV_MAX 32
#define SPIRV_NONE UINT32_MAX

typedef enum spirv_binding_kind {
    SPIRV_UNIFORM_BLOCK = 0,
    SPIRV_STORAGE_BUFFER,
    SPIRV_TEXEL_BUFFER,
} spirv_binding_kind;

typedef struct spirv_binding {
    uint32_t set;
    uint32_t binding;
    spirv_binding_kind kind;
    uint32_t size_bytes; // up to the end of the last member; of a runtime array, up to its beginning
} spirv_binding;

typedef struct spirv_module {
    uint32_t version;
    uint32_t capabilities[SPIRV_MAX];
    size_t capability_count;
    spirv_binding bindings[SPIRV_MAX];
    size_t binding_count;
    uint32_t push_bytes; // 0: no push constants
    uint32_t spec_ids[SPIRV_MAX];
    size_t spec_count;
    uint32_t local_size_spec[3]; // ids of the specialisation constants that give the workgroup size; SPIRV_NONE: fixed
    bool has_local_size;
} spirv_module;

// False, with a static reason, for what is no SPIR-V or more than the arrays hold.
bool spirv_read(const uint32_t *words, size_t word_count, spirv_module *out_module, const char **out_why);

bool spirv_has_capability(const spirv_module *module, uint32_t capability);

#endif

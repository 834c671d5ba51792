// The compiled kernels, compressed and embedded by the build; shaders/CMakeLists.txt lists them.
#ifndef VKF_KERNEL_SHADER_TABLE_H
#define VKF_KERNEL_SHADER_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/host.h"

// The modules of one source, compressed together as shaders/embed_modules.c describes.
typedef struct vkf__shader_family {
    const uint8_t *packed; // zlib's format
    uint32_t packed_bytes;
    uint32_t word_count; // of all its modules
    uint32_t instruction_count;
} vkf__shader_family;

typedef struct vkf__shader {
    const char *name;    // "gemm_tile.f32_f16_f32": the shader and its element types
    const char *source;  // "gemm/gemm_tile.comp", below shaders/
    const char *defines; // "TYPE_A=f32 TYPE_B=f16 TYPE_D=f32": what the source was compiled with, besides VKF_GLSL=1
    const vkf__shader_family *family;
    uint32_t first_instruction, first_operand; // of the module in its family
    uint32_t word_count;
    uint64_t hash; // of the SPIR-V, whatever its compression
} vkf__shader;

extern const vkf__shader vkf__shaders[]; // in the order of the list
extern const uint32_t vkf__shader_count;

// The module with that name, or NULL.
const vkf__shader *vkf__shader_find(const char *name);

// Whether the build embeds all modules that the registry names. VKF_KERNELS leaves some out.
extern const bool vkf__shaders_whole;
// Whether it embeds this one.
bool vkf__shader_is_embedded(const char *name);

// Unpacks the module's SPIR-V, word_count words in the host's byte order. It is released with vkf__free(). Statuses:
// OUT_OF_HOST_MEMORY, FORMAT (the stored bytes are damaged).
VKF_MUST_CHECK vkf_status vkf__shader_words(const vkf__host *host, const vkf__shader *shader, uint32_t **out_words);

#endif

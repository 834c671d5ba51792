// The compiled kernels, embedded by the build (shaders/CMakeLists.txt is the list of them).
#ifndef VKF_KERNEL_SHADER_TABLE_H
#define VKF_KERNEL_SHADER_TABLE_H

#include <stddef.h>
#include <stdint.h>

typedef struct vkf__shader {
    const char *name;      // "gemm_tile.f32_f16_f32": the shader and its element types
    const char *source;    // "gemm_tile.comp", below shaders/
    const char *defines;   // "TYPE_A=f32 TYPE_B=f16 TYPE_D=f32": what the source was compiled with, besides VKF_GLSL=1
    const uint32_t *words; // SPIR-V 1.3
    uint32_t word_count;
} vkf__shader;

extern const vkf__shader vkf__shaders[]; // in the order of the list
extern const uint32_t vkf__shader_count;

// The module of that name, or NULL.
const vkf__shader *vkf__shader_find(const char *name);

#endif

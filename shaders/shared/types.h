// Scalar types that mean the same in C and in GLSL, so that one struct definition serves both. Structs hold 4-byte
// scalars only: then C layout, std140 and std430 agree. GLSL sources define VKF_GLSL.
#ifndef VKF_SHARED_TYPES_H
#define VKF_SHARED_TYPES_H

#ifdef VKF_GLSL
#define vkf_u32 uint
#define vkf_i32 int
#define vkf_f32 float
#define VKF_SHARED_SIZE(type, words)
#else
#include <stdint.h>
typedef uint32_t vkf_u32;
typedef int32_t vkf_i32;
typedef float vkf_f32;
#define VKF_SHARED_SIZE(type, words) _Static_assert(sizeof(struct type) == 4 * (words), #type " has padding");
#endif

// Binding 0 of every kernel is its parameter struct, a uniform buffer that the host rewrites between runs. Storage
// buffers follow from binding 1. The push constants are one u32 per storage buffer, in binding order: the element
// offset of the tensor within the bound range (fixed when the command buffer is recorded).
#define VKF_BINDING_PARAMS 0

// Specialisation constant 0 of every kernel is the workgroup's size in x (y and z are 1).
// How many columns an invocation takes in kernels whose workgroups each work on a part of one row.
#define VKF_PART_EACH 4

#define VKF_SPEC_LOCAL_SIZE 0

// Values of the mask-kind constants, equal to vkf_mask_kind.
#define VKF_SHADER_MASK_NONE 0
#define VKF_SHADER_MASK_BOOL_EXCLUDE 1
#define VKF_SHADER_MASK_BOOL_ATTEND 2
#define VKF_SHADER_MASK_ADDITIVE 3
#define VKF_SHADER_MASK_LENGTHS 4

// Bits of the constant that says what else becomes of scores: vkf_sdpa_desc has them as soft_cap, slopes and sinks.
// Of a causal mask and a window: where a query stands. The key count is that of VKF_SHADER_MASK_LENGTHS.
#define VKF_SHADER_CAUSAL_FIRST 1   // at l + causal_offset
#define VKF_SHADER_CAUSAL_LENGTHS 2 // at the key count + l + causal_offset

#define VKF_SHADER_SCORE_CAPPED 1
#define VKF_SHADER_SCORE_SLOPED 2
#define VKF_SHADER_SCORE_SUNK 4

// Values of the fully-masked rule, equal to vkf_fully_masked.
#define VKF_SHADER_FULLY_MASKED_ZERO 0
#define VKF_SHADER_FULLY_MASKED_NAN 1
#define VKF_SHADER_FULLY_MASKED_UNIFORM 2

// Values of the activation constant, equal to vkf_activation.
#define VKF_SHADER_ACTIVATION_NONE 0
#define VKF_SHADER_ACTIVATION_RELU 1
#define VKF_SHADER_ACTIVATION_GELU_ERF 2
#define VKF_SHADER_ACTIVATION_GELU_TANH 3
#define VKF_SHADER_ACTIVATION_SILU 4
#define VKF_SHADER_ACTIVATION_TANH 5
#define VKF_SHADER_ACTIVATION_SIGMOID 7
#define VKF_SHADER_ACTIVATION_MISH 8
#define VKF_SHADER_ACTIVATION_HARD_SWISH 9
#define VKF_SHADER_ACTIVATION_LEAKY_RELU 10
#define VKF_SHADER_ACTIVATION_ELU 11
#define VKF_SHADER_ACTIVATION_HARD_SIGMOID 12

// The parameters that PyTorch's classes have by default.
#define VKF_LEAKY_RELU_SLOPE 0.01f
#define VKF_ELU_ALPHA 1.0f

#endif

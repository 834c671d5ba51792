// The weight and the bias of a norm that another kernel takes along. Included after the constant NORM,
// VKF_GEMM_NORM_*.
#ifndef VKF_NORM_WEIGHT_GLSL
#define VKF_NORM_WEIGHT_GLSL

// Declares the buffer and   vec4 norm_load4(uint i)   which reads four elements from i on. It begins `offset` elements
// into the binding; i and the offset are multiples of four.
#define NORM_WEIGHT(slot, offset)                                                                   \
    layout(set = 0, binding = slot, std430) readonly buffer norm_buffer { uvec2 norm_data[]; };     \
    vec4 norm_load4(uint i)                                                                         \
    {                                                                                               \
        uint at = offset + i;                                                                       \
        if (NORM % 2 == VKF_GEMM_NORM_RMS_F32)                                                      \
            return uintBitsToFloat(uvec4(norm_data[at >> 1], norm_data[(at >> 1) + 1]));            \
        uvec2 words = norm_data[at >> 2];                                                           \
        return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));                              \
    }

#endif

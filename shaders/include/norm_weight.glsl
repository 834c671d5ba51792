// The weight of an RMSNorm that another kernel takes along. Included after the constant NORM, VKF_GEMM_NORM_*.
#ifndef VKF_NORM_WEIGHT_GLSL
#define VKF_NORM_WEIGHT_GLSL

// Declares the buffer and   vec4 load_norm4(uint k)   which reads four of its elements, from k on. It begins `offset`
// elements into the binding; k and the offset are multiples of four.
#define NORM_WEIGHT(slot, offset)                                                                   \
    layout(set = 0, binding = slot, std430) readonly buffer norm_buffer { uvec2 norm_data[]; };     \
    vec4 load_norm4(uint k)                                                                         \
    {                                                                                               \
        uint at = offset + k;                                                                       \
        if (NORM == VKF_GEMM_NORM_F32)                                                              \
            return uintBitsToFloat(uvec4(norm_data[at >> 1], norm_data[(at >> 1) + 1]));            \
        uvec2 words = norm_data[at >> 2];                                                           \
        return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));                              \
    }

#endif

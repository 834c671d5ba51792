// Storage buffers that are read 16 bytes at a time alone.
//
//   READ_VECTORS(type, binding, name)  declares a readonly buffer, uvec4 name_load_vector(uint i) and
//                                      vec4 name_quad(uvec4 vector, uint quad)
//
// `type` is f32, f16 or f16p and may itself be a macro, as in storage.glsl. name_load_vector reads
// VECTOR_ELEMENTS(type) elements, of which name_offset + i must be a multiple; name_quad unpacks four of them, from
// 4 * quad on.
#ifndef VKF_VECTORS_GLSL
#define VKF_VECTORS_GLSL

#include "storage.glsl"

#define VECTOR_ELEMENTS(type) VECTOR_ELEMENTS_EXPAND(type)
#define VECTOR_ELEMENTS_EXPAND(type) VECTOR_ELEMENTS_##type
#define VECTOR_ELEMENTS_f32 4
#define VECTOR_ELEMENTS_f16 8
#define VECTOR_ELEMENTS_f16p 8

#define READ_VECTORS(type, slot, name) READ_VECTORS_EXPAND(type, slot, name)
#define READ_VECTORS_EXPAND(type, slot, name) READ_VECTORS_##type(slot, name)
#define READ_VECTORS_OF(elements, slot, name)               \
    STORAGE_BLOCK(readonly, uvec4, slot, name)              \
    uvec4 name##_load_vector(uint i) { return name##_data[(name##_offset + i) / elements]; }
#define READ_VECTORS_f32(slot, name)                        \
    READ_VECTORS_OF(4, slot, name)                          \
    vec4 name##_quad(uvec4 vector, uint quad) { return uintBitsToFloat(vector); }
#define READ_VECTORS_f16(slot, name)                        \
    READ_VECTORS_OF(8, slot, name)                          \
    vec4 name##_quad(uvec4 vector, uint quad)               \
    {                                                       \
        return vec4(unpackHalf2x16(vector[2 * quad]), unpackHalf2x16(vector[2 * quad + 1])); \
    }
#define READ_VECTORS_f16p(slot, name) READ_VECTORS_f16(slot, name)

#endif

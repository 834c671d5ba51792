// Storage buffers that are read 16 bytes at a time.
//
//   READ_VECTORS(type, binding, name)     declares a readonly buffer, uvec4 name_load_vector(uint i) and
//                                         vec4 name_quad(uvec4 vector, uint quad)
//   READ_ANY_ROWS(type, binding, name)    declares the same and, as READ_QUADS of storage.glsl does,
//                                         float name_load(uint i) and vec4 name_load4(uint i)
//
// `type` is f32, f16, f16p or bf16p and may itself be a macro, as in storage.glsl. name_load_vector reads
// VECTOR_ELEMENTS(type) elements, of which name_offset + i must be a multiple; name_quad unpacks four of them, from
// 4 * quad on. The other two read no more than they return, because a buffer may end there.
#ifndef VKF_VECTORS_GLSL
#define VKF_VECTORS_GLSL

#include "storage.glsl"

#define VECTOR_ELEMENTS(type) VECTOR_ELEMENTS_EXPAND(type)
#define VECTOR_ELEMENTS_EXPAND(type) VECTOR_ELEMENTS_##type
#define VECTOR_ELEMENTS_f32 4
#define VECTOR_ELEMENTS_f16 8
#define VECTOR_ELEMENTS_f16p 8
#define VECTOR_ELEMENTS_bf16p 8

#define READ_VECTORS(type, slot, name) READ_VECTORS_EXPAND(type, slot, name)
#define READ_VECTORS_EXPAND(type, slot, name) READ_VECTORS_##type(slot, name)
#define READ_VECTORS_OF(elements, slot, name)               \
    STORAGE_BLOCK(readonly, uvec4, slot, name)              \
    uvec4 name##_load_vector(uint i) { return name##_data[(name##_offset + i) / elements]; }
#define READ_VECTORS_f32(slot, name)                        \
    READ_VECTORS_OF(4, slot, name)                          \
    vec4 name##_quad(uvec4 vector, uint quad) { return uintBitsToFloat(vector); }
#define READ_VECTORS_16(slot, name, unpack)                 \
    READ_VECTORS_OF(8, slot, name)                          \
    vec4 name##_quad(uvec4 vector, uint quad)               \
    {                                                       \
        return vec4(unpack(vector[2 * quad]), unpack(vector[2 * quad + 1])); \
    }
#define READ_VECTORS_f16(slot, name) READ_VECTORS_16(slot, name, unpackHalf2x16)
#define READ_VECTORS_f16p(slot, name) READ_VECTORS_16(slot, name, unpackHalf2x16)
#define READ_VECTORS_bf16p(slot, name) READ_VECTORS_16(slot, name, unpack_bfloat)

#define READ_ANY_ROWS(type, slot, name) READ_ANY_ROWS_EXPAND(type, slot, name)
#define READ_ANY_ROWS_EXPAND(type, slot, name) READ_ANY_ROWS_##type(slot, name)
#define READ_ANY_ROWS_f32(slot, name)                       \
    READ_VECTORS_f32(slot, name)                            \
    float name##_load(uint i)                               \
    {                                                       \
        uint at = name##_offset + i;                        \
        return uintBitsToFloat(name##_data[at >> 2][at & 3u]); \
    }                                                       \
    vec4 name##_load4(uint i) { return name##_quad(name##_load_vector(i), 0); }
#define READ_ANY_ROWS_16(slot, name, unpack)                \
    READ_VECTORS_16(slot, name, unpack)                     \
    uint name##_load_word(uint at) { return name##_data[at >> 3][(at >> 1) & 3u]; } \
    float name##_load(uint i)                               \
    {                                                       \
        uint at = name##_offset + i;                        \
        return unpack(name##_load_word(at) >> ((at & 1u) << 4)).x; \
    }                                                       \
    vec4 name##_load4(uint i)                               \
    {                                                       \
        uint at = name##_offset + i;                        \
        return vec4(unpack(name##_load_word(at)), unpack(name##_load_word(at + 2))); \
    }
#define READ_ANY_ROWS_f16(slot, name) READ_ANY_ROWS_16(slot, name, unpackHalf2x16)
#define READ_ANY_ROWS_f16p(slot, name) READ_ANY_ROWS_16(slot, name, unpackHalf2x16)
#define READ_ANY_ROWS_bf16p(slot, name) READ_ANY_ROWS_16(slot, name, unpack_bfloat)

#endif

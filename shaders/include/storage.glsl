// Typed storage buffers by macros, so that one kernel source serves every element type.
//
//   READ(type, binding, name)        declares a readonly buffer and   float name_load(uint i)
//   WRITE(type, binding, name)       declares a buffer and            void name_store(uint i, float value)
//   READ_WRITE(type, binding, name)  declares both
//   READ_QUADS(type, binding, name)  declares a readonly buffer, float name_load(uint i) and vec4 name_load4(uint i)
//
// `type` is f32, f16, f16p, bf16p, i32 or bytes and may itself be a macro (-DTYPE_X=f16). Index 0 is the tensor's first
// element: each function adds the push constant name_offset, which the kernel declares.
//
// f16 needs storageBuffer16BitAccess. f16p is the same data on devices without it: two halves to a 32-bit word. A row
// may begin or end in the middle of a word whose other half belongs to another invocation, so f16p stores one half by
// atomics that leave the other alone. bf16p is bfloat16, two to a word, and stored likewise.
//
// name_load4 reads four elements at once: name_offset + i must be a multiple of 4, and all four must lie in the bound
// range. The type must be one of floats; 16-bit ones are unpacked from words and need no feature.
#ifndef VKF_STORAGE_GLSL
#define VKF_STORAGE_GLSL

#extension GL_EXT_shader_16bit_storage : enable

// IEEE half precision, rounded to nearest even, however packHalf2x16 rounds on the device.
uint half_bits(float value)
{
    uint bits = floatBitsToUint(value);
    uint sign = (bits >> 16) & 0x8000u;
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return sign | 0x7e00u; // NaN
    if (magnitude >= 0x477ff000u)
        return sign | 0x7c00u; // 65520 and above
    // Below 2^-14: the sum with 0.5 has an ulp of 2^-24, which is the spacing of subnormal halves.
    if (magnitude < 0x38800000u)
        return sign | (floatBitsToUint(uintBitsToFloat(magnitude) + 0.5) - 0x3f000000u);
    uint rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
    return sign | ((rounded >> 13) - (112u << 10));
}

// bfloat16, rounded to nearest even.
uint bfloat_bits(float value)
{
    uint bits = floatBitsToUint(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (bits >> 16) | 0x40u; // NaN
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

vec2 unpack_bfloat(uint word)
{
    return vec2(uintBitsToFloat(word << 16), uintBitsToFloat(word & 0xffff0000u));
}

#define READ(type, slot, name) READ_EXPAND(type, slot, name)
#define READ_EXPAND(type, slot, name) READ_##type(slot, name)
#define WRITE(type, slot, name) WRITE_EXPAND(type, slot, name)
#define WRITE_EXPAND(type, slot, name) WRITE_##type(slot, name)
#define READ_WRITE(type, slot, name) READ_WRITE_EXPAND(type, slot, name)
#define READ_WRITE_EXPAND(type, slot, name) READ_WRITE_##type(slot, name)

#define STORAGE_BLOCK(access, element, slot, name) \
    layout(set = 0, binding = slot, std430) access buffer name##_buffer { element name##_data[]; };

#define LOAD_f32(name) \
    float name##_load(uint i) { return name##_data[name##_offset + i]; }
#define STORE_f32(name) \
    void name##_store(uint i, float value) { name##_data[name##_offset + i] = value; }
#define READ_f32(slot, name) STORAGE_BLOCK(readonly, float, slot, name) LOAD_f32(name)
#define WRITE_f32(slot, name) STORAGE_BLOCK(writeonly, float, slot, name) STORE_f32(name)
#define READ_WRITE_f32(slot, name) STORAGE_BLOCK(, float, slot, name) LOAD_f32(name) STORE_f32(name)

#define LOAD_f16(name) \
    float name##_load(uint i) { return float(name##_data[name##_offset + i]); }
#define STORE_f16(name) \
    void name##_store(uint i, float value) { name##_data[name##_offset + i] = float16_t(value); }
#define READ_f16(slot, name) STORAGE_BLOCK(readonly, float16_t, slot, name) LOAD_f16(name)
#define WRITE_f16(slot, name) STORAGE_BLOCK(writeonly, float16_t, slot, name) STORE_f16(name)
#define READ_WRITE_f16(slot, name) STORAGE_BLOCK(, float16_t, slot, name) LOAD_f16(name) STORE_f16(name)

#define LOAD_f16p(name)                                     \
    uint name##_load_bits(uint i)                           \
    {                                                       \
        uint at = name##_offset + i;                        \
        return name##_data[at >> 1] >> ((at & 1u) << 4);    \
    }                                                       \
    float name##_load(uint i) { return unpackHalf2x16(name##_load_bits(i)).x; }
#define STORE_BITS_16(name)                                 \
    void name##_store_bits(uint i, uint bits)               \
    {                                                       \
        uint at = name##_offset + i;                        \
        uint shift = (at & 1u) << 4;                        \
        atomicAnd(name##_data[at >> 1], 0xffff0000u >> shift);     \
        atomicOr(name##_data[at >> 1], (bits & 0xffffu) << shift); \
    }
#define STORE_f16p(name)                                    \
    STORE_BITS_16(name)                                     \
    void name##_store(uint i, float value) { name##_store_bits(i, half_bits(value)); }
#define READ_f16p(slot, name) STORAGE_BLOCK(readonly, uint, slot, name) LOAD_f16p(name)
#define WRITE_f16p(slot, name) STORAGE_BLOCK(, uint, slot, name) STORE_f16p(name)
#define READ_WRITE_f16p(slot, name) STORAGE_BLOCK(, uint, slot, name) LOAD_f16p(name) STORE_f16p(name)

#define LOAD_bf16p(name)                                    \
    float name##_load(uint i)                               \
    {                                                       \
        uint at = name##_offset + i;                        \
        return uintBitsToFloat(name##_data[at >> 1] >> ((at & 1u) << 4) << 16); \
    }
#define STORE_bf16p(name)                                   \
    STORE_BITS_16(name)                                     \
    void name##_store(uint i, float value) { name##_store_bits(i, bfloat_bits(value)); }
#define READ_bf16p(slot, name) STORAGE_BLOCK(readonly, uint, slot, name) LOAD_bf16p(name)
#define READ_WRITE_bf16p(slot, name) STORAGE_BLOCK(, uint, slot, name) LOAD_bf16p(name) STORE_bf16p(name)

#define READ_QUADS(type, slot, name) READ_QUADS_EXPAND(type, slot, name)
#define READ_QUADS_EXPAND(type, slot, name) READ_QUADS_##type(slot, name)
#define READ_QUADS_f32(slot, name)                          \
    STORAGE_BLOCK(readonly, vec4, slot, name)               \
    float name##_load(uint i)                               \
    {                                                       \
        uint at = name##_offset + i;                        \
        return name##_data[at >> 2][at & 3u];               \
    }                                                       \
    vec4 name##_load4(uint i) { return name##_data[(name##_offset + i) >> 2]; }
#define READ_QUADS_16(slot, name, unpack)                   \
    STORAGE_BLOCK(readonly, uvec2, slot, name)              \
    float name##_load(uint i)                               \
    {                                                       \
        uint at = name##_offset + i;                        \
        return unpack(name##_data[at >> 2][(at >> 1) & 1u] >> ((at & 1u) << 4)).x; \
    }                                                       \
    vec4 name##_load4(uint i)                               \
    {                                                       \
        uvec2 words = name##_data[(name##_offset + i) >> 2];   \
        return vec4(unpack(words.x), unpack(words.y));      \
    }
#define READ_QUADS_f16(slot, name) READ_QUADS_16(slot, name, unpackHalf2x16)
#define READ_QUADS_f16p(slot, name) READ_QUADS_16(slot, name, unpackHalf2x16)
#define READ_QUADS_bf16p(slot, name) READ_QUADS_16(slot, name, unpack_bfloat)

#define READ_i32(slot, name)                       \
    STORAGE_BLOCK(readonly, int, slot, name)       \
    int name##_load(uint i) { return name##_data[name##_offset + i]; }
#define WRITE_i32(slot, name)                      \
    STORAGE_BLOCK(writeonly, int, slot, name)      \
    void name##_store(uint i, int value) { name##_data[name##_offset + i] = value; }

// A buffer whose element type is chosen by a specialisation constant: booleans of one byte, f32, or i32.
#define READ_bytes(slot, name)                     \
    STORAGE_BLOCK(readonly, uint, slot, name)      \
    bool name##_load_bool(uint i)                  \
    {                                              \
        uint at = name##_offset + i;               \
        return ((name##_data[at >> 2] >> ((at & 3u) << 3)) & 0xffu) != 0u;    \
    }                                              \
    float name##_load_f32(uint i) { return uintBitsToFloat(name##_data[name##_offset + i]); } \
    int name##_load_i32(uint i) { return int(name##_data[name##_offset + i]); }

// Moves one element between buffers of the same type without touching its bits.
#define MOVE(type, to, to_index, from, from_index) MOVE_EXPAND(type, to, to_index, from, from_index)
#define MOVE_EXPAND(type, to, to_index, from, from_index) MOVE_##type(to, to_index, from, from_index)
#define MOVE_f32(to, to_index, from, from_index) \
    to##_data[to##_offset + (to_index)] = from##_data[from##_offset + (from_index)]
#define MOVE_f16(to, to_index, from, from_index) MOVE_f32(to, to_index, from, from_index)
#define MOVE_f16p(to, to_index, from, from_index) to##_store_bits(to_index, from##_load_bits(from_index))

// SAME_TYPE(TYPE_X, TYPE_OUT) for #if.
#define SAME_TYPE(a, b) SAME_TYPE_EXPAND(a, b)
#define SAME_TYPE_EXPAND(a, b) (TYPE_ID_##a == TYPE_ID_##b)
#define TYPE_ID_f32 1
#define TYPE_ID_f16 2
#define TYPE_ID_f16p 3
#define TYPE_ID_bf16p 4

#endif

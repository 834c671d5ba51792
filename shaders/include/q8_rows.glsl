// Rows of blocks of q8 (base/blocks.h) one behind the other: READ_QUADS of storage.glsl, which this follows, and
// READ_VECTORS of vectors.glsl, eight elements at a time. name_offset counts words; of the index, name_load4 wants a
// multiple of 4.
#ifndef VKF_Q8_ROWS_GLSL
#define VKF_Q8_ROWS_GLSL

#define TYPE_ID_q8 5
#define VECTOR_ELEMENTS_q8 8

// Where the block of element i begins, in words: two blocks have 17, and an odd one begins with the upper half of one.
uint q8_block(uint i)
{
    return (i >> 5) * 17 >> 1;
}

float q8_scale(uint word, uint i)
{
    return unpackHalf2x16(word >> ((i >> 5 & 1u) << 4)).x;
}

// Four elements: the upper half of one word and the lower of the next, or in an odd block that next one.
uint q8_word(uint i, uint word, uint next)
{
    return (i >> 5 & 1u) != 0u ? next : word >> 16 | next << 16;
}

vec4 q8_elements(uint word)
{
    int bytes = int(word);
    return vec4(bitfieldExtract(bytes, 0, 8), bitfieldExtract(bytes, 8, 8), bitfieldExtract(bytes, 16, 8), bytes >> 24);
}

#define READ_QUADS_q8(slot, name)                           \
    STORAGE_BLOCK(readonly, uint, slot, name)               \
    vec4 name##_load4(uint i)                               \
    {                                                       \
        uint block = name##_offset + q8_block(i), at = block + (i >> 2 & 7u); \
        uint word = q8_word(i, name##_data[at], name##_data[at + 1]);         \
        return q8_scale(name##_data[block], i) * q8_elements(word);           \
    }                                                       \
    float name##_load(uint i) { return name##_load4(i & ~3u)[i & 3u]; }

#define READ_q8(slot, name) READ_QUADS_q8(slot, name)

// A vector is the scale, and the elements as they are.
#define READ_VECTORS_q8(slot, name)                         \
    STORAGE_BLOCK(readonly, uint, slot, name)               \
    uvec4 name##_load_vector(uint i)                        \
    {                                                       \
        uint block = name##_offset + q8_block(i), at = block + (i >> 2 & 7u);      \
        uint middle = name##_data[at + 1];                  \
        return uvec4(floatBitsToUint(q8_scale(name##_data[block], i)),             \
                     q8_word(i, name##_data[at], middle), q8_word(i, middle, name##_data[at + 2]), 0); \
    }                                                       \
    vec4 name##_quad(uvec4 vector, uint quad) { return uintBitsToFloat(vector.x) * q8_elements(vector[1 + quad]); }

#endif

// Operands of the cooperative-matrix kernels, read in chunks of eight elements.
//
//   ELEMENT                     TYPE_B as a component type of cooperative matrices
//   READ_CHUNKS(binding, name)  declares a readonly buffer of TYPE_B elements,
//                               float name_load(uint i)   one element, and
//                               uvec4 name_fetch(first, stride, line, at, lines, width)
//                                 elements [at, at + 8) of a line out of `lines`, which are `width` long and lie
//                                 `stride` apart; zeros outside
//                               bool name_is_aligned(uint first, uint stride, uint width)
//                                 whether all chunks of such lines are aligned and whole, and then
//                               uvec4 name_fetch_aligned(uint line_first, uint at, uint width)
//                                 elements [at, at + 8) of the line that begins at line_first; zeros from `width` on
//   READ_WIDE(binding, name)    the same for TYPE_A, which is TYPE_B again or f32; fetches a WIDE_CHUNK
//   NARROW(chunk)               a WIDE_CHUNK rounded to eight elements of TYPE_B
//   widen_chunk(chunk)          eight elements of TYPE_B as an octet of floats
//   CHUNKS_OF(type, binding, name)
//                               declares the buffer of a READ_WRITE(type, binding, name) once more, in 16 bytes,
//                               bool name_is_chunk(uint i)   whether an octet of elements lies in whole ones from i on,
//                               octet name_load8(uint i), and void name_store8(uint i, octet values)
//
// The buffers are declared as arrays of 16 bytes, whatever their elements. So an aligned chunk is one load, any other
// is read by single words, and 16-bit storage is not needed. Addresses are clamped into the matrix, so it may have no
// dimension of 0.
#ifndef VKF_MATRIX_GLSL
#define VKF_MATRIX_GLSL

#define CHUNK 8u

// For lengths of arrays in shared memory. A driver of Qualcomm's lays out such an array wrongly where its length comes
// from the conditional operator on specialisation constants (ncnn's pull request 6972), so they do without.
//   SELECTED(flag, a, b)  a where flag is 1, b where it is 0
//   LARGER(a, b)          of two numbers below 2^31
#define SELECTED(flag, a, b) ((b) + (flag) * ((a) - (b)))
#define LARGER(a, b) ((a) + ((b) - (a)) * (1u - (((b) - (a)) >> 31)))

// An invocation's number within its subgroup, whose kernels run full subgroups of LANES. The builtin of that name leads
// the same driver to wrong results where matrices are used (the same pull request).
#define LANE (gl_LocalInvocationID.x % LANES)

// Eight floats.
struct octet {
    vec4 low;
    vec4 high;
};

#define MATRIX_TYPE_IS(a, b) MATRIX_TYPE_IS_EXPAND(a, b)
#define MATRIX_TYPE_IS_EXPAND(a, b) (MATRIX_TYPE_##a == MATRIX_TYPE_##b)
#define MATRIX_TYPE_f32 1
#define MATRIX_TYPE_f16 2
#define MATRIX_TYPE_bf16 3

#if MATRIX_TYPE_IS(TYPE_B, bf16)
#extension GL_EXT_bfloat16 : require
#define ELEMENT bfloat16_t

float widen(uint bits)
{
    return uintBitsToFloat(bits << 16);
}

// Nearest even; a NaN stays one.
uint narrow(float x)
{
    uint bits = floatBitsToUint(x);
    return (is_nan(x) ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

uint narrow_pair(uint x, uint y)
{
    return narrow(uintBitsToFloat(x)) | narrow(uintBitsToFloat(y)) << 16;
}

octet widen_chunk(uvec4 chunk)
{
    return octet(vec4(unpack_bfloat(chunk.x), unpack_bfloat(chunk.y)),
                 vec4(unpack_bfloat(chunk.z), unpack_bfloat(chunk.w)));
}
#else
#define ELEMENT float16_t

float widen(uint bits)
{
    return unpackHalf2x16(bits & 0xffffu).x;
}

uint narrow_pair(uint x, uint y)
{
    return packFloat2x16(f16vec2(uintBitsToFloat(x), uintBitsToFloat(y)));
}

octet widen_chunk(uvec4 chunk)
{
    return octet(vec4(unpackHalf2x16(chunk.x), unpackHalf2x16(chunk.y)),
                 vec4(unpackHalf2x16(chunk.z), unpackHalf2x16(chunk.w)));
}
#endif

// An invocation accesses an element through one of the two declarations alone.
#define CHUNKS_OF(type, slot, name) CHUNKS_OF_EXPAND(type, slot, name)
#define CHUNKS_OF_EXPAND(type, slot, name) CHUNKS_OF_##type(slot, name)
#define CHUNKS_OF_f32(slot, name)                                                                   \
    layout(set = 0, binding = slot, std430) buffer name##_chunk_buffer { vec4 name##_chunks[]; };   \
    bool name##_is_chunk(uint i) { return ((name##_offset + i) & 3u) == 0u; }                       \
    octet name##_load8(uint i)                                                                      \
    {                                                                                               \
        uint at = (name##_offset + i) >> 2;                                                         \
        return octet(name##_chunks[at], name##_chunks[at + 1]);                                     \
    }                                                                                               \
    void name##_store8(uint i, octet values)                                                        \
    {                                                                                               \
        uint at = (name##_offset + i) >> 2;                                                         \
        name##_chunks[at] = values.low;                                                             \
        name##_chunks[at + 1] = values.high;                                                        \
    }
#define CHUNKS_OF_f16(slot, name)                                                                   \
    layout(set = 0, binding = slot, std430) buffer name##_chunk_buffer { uvec4 name##_chunks[]; };  \
    bool name##_is_chunk(uint i) { return ((name##_offset + i) & 7u) == 0u; }                       \
    octet name##_load8(uint i)                                                                      \
    {                                                                                               \
        uvec4 chunk = name##_chunks[(name##_offset + i) >> 3];                                      \
        return octet(vec4(unpackHalf2x16(chunk.x), unpackHalf2x16(chunk.y)),                        \
                     vec4(unpackHalf2x16(chunk.z), unpackHalf2x16(chunk.w)));                       \
    }                                                                                               \
    void name##_store8(uint i, octet values)                                                        \
    {                                                                                               \
        name##_chunks[(name##_offset + i) >> 3] =                                                   \
            uvec4(packFloat2x16(f16vec2(values.low.xy)), packFloat2x16(f16vec2(values.low.zw)),     \
                  packFloat2x16(f16vec2(values.high.xy)), packFloat2x16(f16vec2(values.high.zw)));  \
    }

#define CHUNK_BLOCK(slot, name) \
    layout(set = 0, binding = slot, std430) readonly buffer name##_buffer { uvec4 name##_data[]; };

#define READ_CHUNKS(slot, name)                                                                     \
    CHUNK_BLOCK(slot, name)                                                                         \
    uint name##_bits(uint at)                                                                       \
    {                                                                                               \
        return name##_data[at >> 3][(at >> 1) & 3u] >> ((at & 1u) << 4) & 0xffffu;                  \
    }                                                                                               \
    float name##_load(uint i) { return widen(name##_bits(name##_offset + i)); }                     \
    uvec4 name##_fetch(uint first, uint stride, uint line, uint at, uint lines, uint width)         \
    {                                                                                               \
        uint begin = name##_offset + first + min(line, lines - 1) * stride;                         \
        uvec4 chunk = uvec4(0);                                                                     \
        if (line < lines && at + CHUNK <= width && ((begin + at) & 7u) == 0u) {                     \
            chunk = name##_data[(begin + at) >> 3];                                                 \
        } else {                                                                                    \
            [[unroll]] for (uint i = 0; i < CHUNK; ++i) {                                           \
                uint bits = name##_bits(begin + min(at + i, width - 1));                            \
                chunk[i / 2] |= line < lines && at + i < width ? bits << (i % 2 * 16) : 0u;         \
            }                                                                                       \
        }                                                                                           \
        return chunk;                                                                               \
    }                                                                                               \
    bool name##_is_aligned(uint first, uint stride, uint width)                                     \
    {                                                                                               \
        return width % CHUNK == 0 && ((name##_offset + first | stride) & 7u) == 0u;                 \
    }                                                                                               \
    uvec4 name##_fetch_aligned(uint line_first, uint at, uint width)                                \
    {                                                                                               \
        uvec4 chunk = name##_data[(name##_offset + line_first + min(at, width - CHUNK)) >> 3];      \
        return at < width ? chunk : uvec4(0);                                                       \
    }

#if MATRIX_TYPE_IS(TYPE_A, f32)
struct wide_chunk {
    uvec4 low;
    uvec4 high;
};
#define WIDE_CHUNK wide_chunk

uvec4 narrow_chunk(wide_chunk chunk)
{
    return uvec4(narrow_pair(chunk.low.x, chunk.low.y), narrow_pair(chunk.low.z, chunk.low.w),
                 narrow_pair(chunk.high.x, chunk.high.y), narrow_pair(chunk.high.z, chunk.high.w));
}
#define NARROW(chunk) narrow_chunk(chunk)

#define READ_WIDE(slot, name)                                                                       \
    CHUNK_BLOCK(slot, name)                                                                         \
    wide_chunk name##_fetch(uint first, uint stride, uint line, uint at, uint lines, uint width)    \
    {                                                                                               \
        uint begin = name##_offset + first + min(line, lines - 1) * stride;                         \
        wide_chunk chunk = wide_chunk(uvec4(0), uvec4(0));                                          \
        if (line < lines && at + CHUNK <= width && ((begin + at) & 3u) == 0u) {                     \
            chunk.low = name##_data[(begin + at) >> 2];                                             \
            chunk.high = name##_data[((begin + at) >> 2) + 1];                                      \
        } else {                                                                                    \
            [[unroll]] for (uint i = 0; i < CHUNK; ++i) {                                           \
                uint from = begin + min(at + i, width - 1);                                         \
                uint bits = name##_data[from >> 2][from & 3u];                                      \
                bits = line < lines && at + i < width ? bits : 0u;                                  \
                if (i < 4)                                                                          \
                    chunk.low[i % 4] = bits;                                                        \
                else                                                                                \
                    chunk.high[i % 4] = bits;                                                       \
            }                                                                                       \
        }                                                                                           \
        return chunk;                                                                               \
    }
#else
#define WIDE_CHUNK uvec4
#define NARROW(chunk) (chunk)
#define READ_WIDE(slot, name) READ_CHUNKS(slot, name)
#endif

#endif

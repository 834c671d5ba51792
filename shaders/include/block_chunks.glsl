// Weights in blocks (shared/blocks.h) as chunks of eight halves along k. Included after blocks.glsl, the declaration of
// p and that of CHUNK, which is 8.
//
// An element becomes a half by one multiplication in 16 bits: it is off by at most 2^-11 of itself.
#ifndef VKF_BLOCK_CHUNKS_GLSL
#define VKF_BLOCK_CHUNKS_GLSL

// Words of a column, lowest k first, with which a chunk travels through registers: one of q4, two of q8.
struct packed_chunk {
    uvec2 words;
    uint head;
};

const uint CHUNK_WORDS = CHUNK / WORD_ELEMENTS;
const uint ELEMENT_BITS = 32 / WORD_ELEMENTS;

layout(set = 0, binding = VKF_GEMM_BINDING_B, std430) readonly buffer b_buffer { uint b_data[]; };

// k, a multiple of eight, is below p.k.
packed_chunk fetch_packed(uint col, uint k)
{
    uint column = blocks_column(col, p.n), lane = column % VKF_GEMM_PANEL;
    uint tile = b_offset + blocks_tile(column, k, p.ldb);
    uint at = tile + HEAD_WORDS + k % VKF_BLOCKS_DEPTH / WORD_ELEMENTS * VKF_GEMM_PANEL + lane;
    packed_chunk chunk;
    chunk.words = uvec2(b_data[at], CHUNK_WORDS > 1 ? b_data[at + VKF_GEMM_PANEL] : 0u);
    chunk.head = b_data[tile + lane / 2] >> lane % 2 * 16;
    return chunk;
}

// The lowest bits of a half between 1024 and 2048 count ones. Elements are put there, signed bytes with 128 added, and
// this taken away.
f16vec2 zero_of(uint head)
{
    return BLOCKS_Q8 ? f16vec2(1152.0) : unpackFloat2x16((head & 15u) * 0x00010001u | 0x64006400u);
}

// Elements 2i and 2i + 1 of a word, without scale.
f16vec2 unpack_pair(uint word, uint i, f16vec2 zero)
{
    uint pair = bitfieldExtract(BLOCKS_Q8 ? word ^ 0x80808080u : word, int(2 * i * ELEMENT_BITS),
                                int(2 * ELEMENT_BITS));
    uint spread = (pair | pair << (16 - ELEMENT_BITS)) & (BLOCKS_Q8 ? 0x00ff00ffu : 0x000f000fu);
    return unpackFloat2x16(spread | 0x64006400u) - zero;
}

uvec4 unpack_chunk(packed_chunk chunk)
{
    f16vec2 scale = unpackFloat2x16(BLOCKS_Q8 ? chunk.head : chunk.head & 0xfff0u).xx;
    f16vec2 zero = zero_of(chunk.head);
    uvec4 halves;
    [[unroll]] for (uint i = 0; i < 4; ++i) {
        f16vec2 pair = unpack_pair(chunk.words[i * 2 / WORD_ELEMENTS], i % (WORD_ELEMENTS / 2), zero);
        halves[i] = packFloat2x16(pair * scale);
    }
    return halves;
}

#endif

// Single elements of weights in blocks (shared/blocks.h) as halves, for kernels whose driver asks for one at a time.
// Included after blocks.glsl.
//
// An element becomes a half by one multiplication in 16 bits, as in block_chunks.glsl.
#ifndef VKF_BLOCK_HALVES_GLSL
#define VKF_BLOCK_HALVES_GLSL

// The words of a tile in which element k of a column, and its scale, lie.
uint word_place(uint column, uint k)
{
    return HEAD_WORDS + k / WORD_ELEMENTS * VKF_GEMM_PANEL + column;
}

uint head_place(uint column)
{
    return column / 2;
}

float16_t block_half(uint word, uint head, uint column, uint k)
{
    uint own = column % 2 == 0 ? head : head >> 16;
    float16_t zero = float16_t(BLOCKS_Q8 ? 0 : int(own & 15u));
    float16_t scale = unpackFloat2x16(BLOCKS_Q8 ? own : own & 0xfff0u).x;
    return (float16_t(blocks_element(word, k % WORD_ELEMENTS)) - zero) * scale;
}

#endif

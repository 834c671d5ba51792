// Single elements of weights in blocks (shared/blocks.h) as halves, for kernels whose driver asks for one at a time.
// Included after blocks.glsl.
//
// An element becomes a half by one multiplication and, in q4, one addition in 16 bits, as in block_chunks.glsl.
#ifndef VKF_BLOCK_HALVES_GLSL
#define VKF_BLOCK_HALVES_GLSL

// The words of a tile in which element k of a column, and its scale, lie.
uint word_place(uint column, uint k)
{
    return HEAD_WORDS + k / WORD_ELEMENTS * VKF_GEMM_PANEL + column;
}

uint head_place(uint column)
{
    return BLOCKS_Q8 ? column / 2 : column;
}

float16_t block_half(uint word, uint head, uint column, uint k)
{
    f16vec2 pair = unpackFloat2x16(head);
    float16_t value = float16_t(blocks_element(word, k % WORD_ELEMENTS));
    if (BLOCKS_Q8)
        return value * (column % 2 == 0 ? pair.x : pair.y);
    return fma(value, pair.x, pair.y);
}

#endif

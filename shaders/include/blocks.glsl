// Takes apart the words of a tile of weights in blocks (shared/blocks.h). Included after the constants HAS_BIAS and
// B_LAYOUT, which is VKF_GEMM_B_Q8 or VKF_GEMM_B_Q4.
#ifndef VKF_BLOCKS_GLSL
#define VKF_BLOCKS_GLSL

#include "../shared/blocks.h"

const bool BLOCKS_Q8 = B_LAYOUT == VKF_GEMM_B_Q8;
const uint TILE_WORDS = BLOCKS_Q8 ? VKF_BLOCKS_Q8_WORDS : VKF_BLOCKS_Q4_WORDS;
const uint HEAD_WORDS = VKF_BLOCKS_HEAD;
const uint WORD_ELEMENTS = BLOCKS_Q8 ? 4 : 8; // which follow each other along k

// The column that is read for `col`: those beyond the last panel stand for its last one.
uint blocks_column(uint col, uint n)
{
    return min(col, (n + VKF_GEMM_PANEL - 1) / VKF_GEMM_PANEL * VKF_GEMM_PANEL - 1);
}

// Where in words the tile begins that has this column and step k.
uint blocks_tile(uint column, uint k, uint ldb)
{
    uint panel_tiles = ldb / (VKF_GEMM_PANEL * VKF_BLOCKS_DEPTH);
    return (column / VKF_GEMM_PANEL * panel_tiles + k / VKF_BLOCKS_DEPTH) * TILE_WORDS;
}

// Element i of a word.
float blocks_element(uint word, uint i)
{
    return BLOCKS_Q8 ? float(bitfieldExtract(int(word), int(8u * i), 8))
                     : float(int(bitfieldExtract(word, int(4u * i), 4)));
}

// The same, but multiplied by a power of two where that saves a shift. blocks_lowering() is the factor to undo this.
float blocks_raised(uint word, uint i)
{
    return BLOCKS_Q8 || i == 7 ? blocks_element(word, i) : float(int(word & (15u << 4u * i)));
}

float blocks_lowering(uint i)
{
    return BLOCKS_Q8 || i == 7 ? 1.0 : 1.0 / float(1u << 4u * i);
}

// The scales of two columns, from the word in which their heads lie.
vec2 blocks_scales(uint word)
{
    return unpackHalf2x16(BLOCKS_Q8 ? word : word & 0xfff0fff0u);
}

// What q = 0 stands for in these columns. Scale and zero have few bits, so that this and  minimum + scale * q  are
// exact.
vec2 blocks_minimums(uint word)
{
    return BLOCKS_Q8 ? vec2(0.0) : blocks_scales(word) * -vec2(int(word & 15u), int(word >> 16 & 15u));
}

// Scale (x) and minimum (y) of a column from this word.
vec2 blocks_head(uint word, uint column)
{
    vec2 scales = blocks_scales(word), minimums = blocks_minimums(word);
    return column % 2 == 0 ? vec2(scales.x, minimums.x) : vec2(scales.y, minimums.y);
}

// Declares the bias, of the type that HAS_BIAS says, and   float bias_load(uint i)   as READ() does. It begins `offset`
// elements into the binding.
#define BLOCKS_BIAS(slot, offset)                                                                      \
    layout(set = 0, binding = slot, std430) readonly buffer bias_buffer { uint bias_data[]; };         \
    float bias_load(uint i)                                                                            \
    {                                                                                                  \
        uint at = offset + i;                                                                          \
        if (HAS_BIAS == VKF_BLOCKS_BIAS_F32)                                                           \
            return uintBitsToFloat(bias_data[at]);                                                     \
        uint bits = bias_data[at >> 1] >> ((at & 1u) << 4);                                            \
        return HAS_BIAS == VKF_BLOCKS_BIAS_F16 ? unpackHalf2x16(bits).x : uintBitsToFloat(bits << 16); \
    }

#endif

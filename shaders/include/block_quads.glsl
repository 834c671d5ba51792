// Reads weights in blocks by quads: a quad is four neighbouring columns, and one load of 16 bytes brings a word of
// each. Included after blocks.glsl and uvec4 b_quad(uint place, uint i), which reads b. A tile of b is named by the
// place where it begins, a quad by its number in the panel.
#ifndef VKF_BLOCK_QUADS_GLSL
#define VKF_BLOCK_QUADS_GLSL

const uint QUAD_STEPS = 8; // of k, whose elements are taken apart at once
const uint QUAD_WORDS = 2; // of a column that hold them, at most

// The words in which the heads of the quad's columns lie.
uvec4 load_head(uint tile, uint quad)
{
    return b_quad(tile, quad / 2);
}

// The words of steps k .. k + QUAD_STEPS - 1 of the quad's columns.
void load_quads(uint tile, uint quad, uint k, out uvec4 words[QUAD_WORDS])
{
    [[unroll]] for (uint i = 0; i < QUAD_STEPS / WORD_ELEMENTS; ++i)
        words[i] = b_quad(tile, (HEAD_WORDS + (k / WORD_ELEMENTS + i) * VKF_GEMM_PANEL) / 4 + quad);
}

// Scales of the quad's columns, and their minimums.
void unpack_head(uvec4 words, uint quad, out vec4 scale, out vec4 minimum)
{
    uvec2 pair = quad % 2 == 0 ? words.xy : words.zw;
    scale = vec4(blocks_scales(pair.x), blocks_scales(pair.y));
    minimum = vec4(blocks_minimums(pair.x), blocks_minimums(pair.y));
}

// Elements of the quad's columns. They are complete if `scaled`, and else without scale and minimum, and raised
// (blocks_raised()).
void unpack_quads(uvec4 words[QUAD_WORDS], bool scaled, vec4 scale, vec4 minimum, out vec4 values[QUAD_STEPS])
{
    [[unroll]] for (uint step = 0; step < QUAD_STEPS; ++step) {
        uint i = step % WORD_ELEMENTS;
        [[unroll]] for (uint c = 0; c < 4; ++c)
            values[step][c] = blocks_raised(words[step / WORD_ELEMENTS][c], i);
        if (scaled)
            values[step] = fma(values[step], scale * blocks_lowering(i), minimum);
    }
}

void read_head(uint tile, uint quad, out vec4 scale, out vec4 minimum)
{
    unpack_head(load_head(tile, quad), quad, scale, minimum);
}

void read_quads(uint tile, uint quad, uint k, bool scaled, vec4 scale, vec4 minimum, out vec4 values[QUAD_STEPS])
{
    uvec4 words[QUAD_WORDS];
    load_quads(tile, quad, k, words);
    unpack_quads(words, scaled, scale, minimum, values);
}

#endif

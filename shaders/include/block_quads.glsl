// Reads weights in blocks by quads: a quad is four neighbouring columns, and one load of 16 bytes brings a word of
// each. Included after blocks.glsl and uvec4 b_quad(uint place, uint i), which reads b. A tile of b is named by the
// place where it begins, a quad by its number in the panel.
#ifndef VKF_BLOCK_QUADS_GLSL
#define VKF_BLOCK_QUADS_GLSL

const uint QUAD_STEPS = 8; // of k, whose elements are taken apart at once

// Scales of the quad's columns, and their minimums.
void read_head(uint tile, uint quad, out vec4 scale, out vec4 minimum)
{
    if (BLOCKS_Q8) {
        uvec4 eight = b_quad(tile, quad / 2);
        uvec2 words = quad % 2 == 0 ? eight.xy : eight.zw;
        scale = vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
        minimum = vec4(0.0);
    } else {
        uvec4 words = b_quad(tile, quad);
        vec2 x = unpackHalf2x16(words.x), y = unpackHalf2x16(words.y);
        vec2 z = unpackHalf2x16(words.z), w = unpackHalf2x16(words.w);
        scale = vec4(x.x, y.x, z.x, w.x);
        minimum = vec4(x.y, y.y, z.y, w.y);
    }
}

// Elements k .. k + QUAD_STEPS - 1 of the quad's columns. They are complete if `scaled`, and else without scale and
// minimum, and raised (blocks_raised()).
void read_quads(uint tile, uint quad, uint k, bool scaled, vec4 scale, vec4 minimum, out vec4 values[QUAD_STEPS])
{
    [[unroll]] for (uint first = 0; first < QUAD_STEPS; first += WORD_ELEMENTS) {
        uvec4 words = b_quad(tile, (HEAD_WORDS + (k + first) / WORD_ELEMENTS * VKF_GEMM_PANEL) / 4 + quad);
        [[unroll]] for (uint i = 0; i < WORD_ELEMENTS; ++i) {
            [[unroll]] for (uint c = 0; c < 4; ++c)
                values[first + i][c] = blocks_raised(words[c], i);
            if (scaled)
                values[first + i] = fma(values[first + i], scale * blocks_lowering(i), minimum);
        }
    }
}

#endif

// A few rows by a weight in blocks, where lanes have four neighbouring columns each and share out k: heads of the columns,
// and the way of sums to d. Included where THREAD_M, TILE_M and TILE_N are declared, product_store.glsl and blocks.glsl are
// included, and uvec4 b_quad(uint place, uint i) reads b.
#ifndef VKF_BLOCK_COLUMNS_GLSL
#define VKF_BLOCK_COLUMNS_GLSL

const uint LANES = TILE_N / 4; // along n
const uint PARTS = gl_WorkGroupSize.x / LANES;
const uint OUTPUTS = TILE_M * TILE_N;

shared vec4 partial[PARTS > 1 ? PARTS * OUTPUTS / 4 : 1]; // (parts, TILE_M, TILE_N)

vec4 sum[THREAD_M];

// Scales of the lane's four columns, and their minimums.
void read_head(uint tile, uint lane, out vec4 scale, out vec4 minimum)
{
    if (BLOCKS_Q8) {
        uvec4 eight = b_quad(tile, lane / 2);
        uvec2 words = lane % 2 == 0 ? eight.xy : eight.zw;
        scale = vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
        minimum = vec4(0.0);
    } else {
        uvec4 words = b_quad(tile, lane);
        vec2 x = unpackHalf2x16(words.x), y = unpackHalf2x16(words.y);
        vec2 z = unpackHalf2x16(words.z), w = unpackHalf2x16(words.w);
        scale = vec4(x.x, y.x, z.x, w.x);
        minimum = vec4(x.y, y.y, z.y, w.y);
    }
}

void store_sums(uint d_first, uint row_first, uint col_first)
{
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        uint row = row_first + i;
        [[unroll]] for (uint c = 0; c < 4; ++c) {
            uint col = col_first + c;
            if (row < p.m && col < p.n)
                store_element(d_first + row * p.ldd + col, col, sum[i][c]);
        }
    }
}

// Brings the sums of all parts to the first of them.
void add_parts(uint lane, uint part)
{
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
        partial[part * OUTPUTS / 4 + i * LANES + lane] = sum[i];
    barrier();
    if (part == 0) {
        [[unroll]] for (uint other = 1; other < PARTS; ++other)
            [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
                sum[i] += partial[other * OUTPUTS / 4 + i * LANES + lane];
    }
    barrier();
}

#endif

// For products of a few rows and a weight in blocks, whose lanes take four neighbouring columns each and divide k among
// them: adds their sums and stores them in d. Included after THREAD_M, TILE_M, TILE_N and product_store.glsl.
#ifndef VKF_BLOCK_COLUMNS_GLSL
#define VKF_BLOCK_COLUMNS_GLSL

#include "local_size.glsl"

const uint LANES = TILE_N / 4; // along n
const uint PARTS = LOCAL_SIZE / LANES;
const uint OUTPUTS = TILE_M * TILE_N;

shared vec4 partial[PARTS * OUTPUTS / 4]; // (parts, TILE_M, TILE_N); unused where there is one part

vec4 sum[THREAD_M];

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

// Adds the sums of all parts into those of part 0.
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

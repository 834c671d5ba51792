// For products of a few rows and a weight in blocks, whose lanes take four neighbouring columns each and divide k among
// them: adds their sums and stores them in d. Included after THREAD_M, TILE_M, TILE_N, TILE_K and product_store.glsl.
#ifndef VKF_BLOCK_COLUMNS_GLSL
#define VKF_BLOCK_COLUMNS_GLSL

#include "local_size.glsl"

const uint LANES = TILE_N / 4; // along n
const uint PARTS = LOCAL_SIZE / LANES;
const uint OUTPUTS = TILE_M * TILE_N;
// That a lane takes in one step. It loads all of their words before it takes the first apart.
const uint BLOCKS = TILE_K > VKF_BLOCKS_DEPTH ? TILE_K / VKF_BLOCKS_DEPTH : 1;

shared vec4 partial[PARTS * OUTPUTS / 4]; // (parts, TILE_M, TILE_N); unused where there is one part

vec4 sum[THREAD_M];

float partial_load(uint part, uint i)
{
    return partial[part * (OUTPUTS / 4) + i / 4][i % 4];
}

void partial_store(uint part, uint i, float value)
{
    partial[part * (OUTPUTS / 4) + i / 4][i % 4] = value;
}

#include "product_parts.glsl"

void store_sums(uint part, uint lane, uint d_first, uint row_first, uint col_first)
{
    if (PARTS > 1) {
        [[unroll]] for (uint i = 0; i < THREAD_M; ++i)
            partial[part * (OUTPUTS / 4) + i * LANES + lane] = sum[i];
        add_parts(PARTS, SEGMENTS, d_first, row_first, col_first);
        return;
    }
    [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
        [[unroll]] for (uint c = 0; c < 4; ++c) {
            uint row = row_first + i, col = col_first + 4 * lane + c;
            if (row < p.m && col < p.n)
                store_element(d_first + row * p.ldd + col, col, sum[i][c]);
        }
    }
}

#endif

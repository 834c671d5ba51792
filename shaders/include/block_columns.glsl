// For products of a few rows and a weight in blocks, whose lanes take four neighbouring columns each and divide k among
// them: adds their sums and stores them in d. Included after THREAD_M, TILE_M, TILE_N, TILE_K,
// few_rows.glsl and product_store.glsl.
#ifndef VKF_BLOCK_COLUMNS_GLSL
#define VKF_BLOCK_COLUMNS_GLSL

#include "local_size.glsl"

const uint LANES = TILE_N / 4; // along n
const uint PARTS = LOCAL_SIZE / LANES;
// That a lane takes in one step. It loads all of their words before it takes the first apart.
const uint BLOCKS = TILE_K > VKF_BLOCKS_DEPTH ? TILE_K / VKF_BLOCKS_DEPTH : 1;

// (parts, TILE_M, TILE_N), and (parts, TILE_M) squares with RMS. Before the product it holds what becomes moments of
// rows. Unused where there is one part and neither GATE nor NORM.
shared vec4 partial[(PARTS * SUMS + 3) / 4];

vec4 sum[THREAD_M];
float squares[THREAD_M]; // with RMS: the sums of a's

uint place_in_partial(uint part, uint i)
{
    if (RMS != 0 && i >= OUTPUTS)
        return PARTS * OUTPUTS + part * TILE_M + i - OUTPUTS;
    return part * OUTPUTS + i;
}

float partial_load(uint part, uint i)
{
    uint place = place_in_partial(part, i);
    return partial[place / 4][place % 4];
}

void partial_store(uint part, uint i, float value)
{
    uint place = place_in_partial(part, i);
    partial[place / 4][place % 4] = value;
}

#include "product_parts.glsl"

// The place among b's panels of a lane's four columns, in the tile that begins at `first`.
struct panel_place {
    uint panel;
    uint quad; // of the panel's columns
};

panel_place place_of(uint first, uint lane)
{
    if (GATE != 0) {
        uint col = column_of_b(first, 4 * lane);
        return panel_place(col / VKF_GEMM_PANEL, col % VKF_GEMM_PANEL / 4);
    }
    uint col = min(TILE_N == VKF_GEMM_PANEL ? first : first + 4 * lane, p.n - 1);
    return panel_place(col / VKF_GEMM_PANEL, lane % (VKF_GEMM_PANEL / 4));
}

void store_sums(uint part, uint lane, uint d_first, uint row_first, uint col_first)
{
    if (PARTS > 1 || GATE != 0 || RMS != 0) {
        [[unroll]] for (uint i = 0; i < THREAD_M; ++i) {
            partial[part * (OUTPUTS / 4) + i * LANES + lane] = sum[i];
            if (RMS != 0 && lane == 0)
                partial_store(part, OUTPUTS + i, squares[i]);
        }
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

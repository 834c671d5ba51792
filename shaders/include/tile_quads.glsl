// Quads of a and b, four elements that lie side by side in memory, on their way into tiles in shared memory. Included
// after the declaration of p, the constants TRANSPOSE_A, B_LAYOUT and LOCAL_SIZE, and
//
//   QUAD, QUAD_ELEMENT                a vector of four and its elements, as they are in shared memory
//   QUAD a_quad(uint i), b_quad(i)    the quad from element i on, a multiple of four
//   float a_load(uint i), b_load(i)   an element
//
// With B_BLOCKS nothing is said of b.
//
// Addresses are clamped into the matrices. Rows and columns outside are never stored, so that they may hold anything;
// what lies beyond k_end becomes zero by selection, never by multiplication: 0 * NaN is NaN.
#ifndef VKF_TILE_QUADS_GLSL
#define VKF_TILE_QUADS_GLSL

#include "tile_steps.glsl"

const bool A_ALONG_K = TRANSPOSE_A == 0;

// How a part of a tile is read.
const uint READ_ELEMENTS = 0; // one by one
const uint READ_QUADS_TO_END = 1;
const uint READ_QUADS_INSIDE = 2; // none of them reaches beyond k_end: without a selection, and without a branch

// Whether every quad of an operand is aligned, and none straddles the end of a row or of k.
bool can_read_quads(uint offset, uint first, uint stride, uint extent, uint k_begin)
{
    return ((offset | first | stride | extent | k_begin) & 3u) == 0u;
}

uint reading_of(bool quads)
{
    return quads ? READ_QUADS_TO_END : READ_ELEMENTS;
}

QUAD end_at(QUAD value, bool along_k, uint k, uint k_end)
{
    [[unroll]] for (uint c = 0; c < 4; ++c)
        value[c] = (along_k ? k + c : k) < k_end ? value[c] : QUAD_ELEMENT(0.0);
    return value;
}

uint a_index(uint m, uint k)
{
    return A_ALONG_K ? m * p.lda + k : k * p.lda + m;
}

// From row `row` and depth k on.
QUAD fetch_a(uint reading, uint first, uint row, uint k, uint k_end)
{
    uint last_m = p.m - (A_ALONG_K ? 1 : 4);
    if (reading == READ_QUADS_INSIDE)
        return a_quad(first + a_index(min(row, last_m), k));
    QUAD value;
    if (reading == READ_QUADS_TO_END) {
        value = a_quad(first + a_index(min(row, last_m), min(k, k_end - (A_ALONG_K ? 4 : 1))));
    } else {
        [[unroll]] for (uint c = 0; c < 4; ++c) {
            uint m = min(A_ALONG_K ? row : row + c, p.m - 1), at = min(A_ALONG_K ? k + c : k, k_end - 1);
            value[c] = QUAD_ELEMENT(a_load(first + a_index(m, at)));
        }
    }
    return end_at(value, A_ALONG_K, k, k_end);
}

#ifndef B_BLOCKS
const bool B_ALONG_K = B_LAYOUT == VKF_GEMM_B_NK;

uint b_index(uint n, uint k)
{
    if (B_LAYOUT == VKF_GEMM_B_PANELS)
        return n / VKF_GEMM_PANEL * p.ldb + k * VKF_GEMM_PANEL + n % VKF_GEMM_PANEL;
    return B_ALONG_K ? n * p.ldb + k : k * p.ldb + n;
}

// From column `col` and depth k on.
QUAD fetch_b(uint reading, uint first, uint col, uint k, uint k_end)
{
    uint n_end = B_LAYOUT == VKF_GEMM_B_PANELS ? (p.n + VKF_GEMM_PANEL - 1) / VKF_GEMM_PANEL * VKF_GEMM_PANEL : p.n;
    uint last_n = n_end - (B_ALONG_K ? 1 : 4);
    if (reading == READ_QUADS_INSIDE)
        return b_quad(first + b_index(min(col, last_n), k));
    QUAD value;
    if (reading == READ_QUADS_TO_END) {
        value = b_quad(first + b_index(min(col, last_n), min(k, k_end - (B_ALONG_K ? 4 : 1))));
    } else {
        [[unroll]] for (uint c = 0; c < 4; ++c) {
            uint n = min(B_ALONG_K ? col : col + c, n_end - 1), at = min(B_ALONG_K ? k + c : k, k_end - 1);
            value[c] = QUAD_ELEMENT(b_load(first + b_index(n, at)));
        }
    }
    return end_at(value, B_ALONG_K, k, k_end);
}
#endif

#endif

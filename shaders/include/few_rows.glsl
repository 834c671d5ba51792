// What kernels for a few rows do beside the product, see shared/gemm.h: they normalise rows of a on the way in, and
// gate on the way out. Included after the constants TILE_M, TILE_N, GATE and NORM, and the declaration of p.
#ifndef VKF_FEW_ROWS_GLSL
#define VKF_FEW_ROWS_GLSL

const uint OUTPUTS = TILE_M * TILE_N;
// Whatever a workgroup sums up along k: its outputs and, for the factor of an RMSNorm, the squares of its rows of a. It
// is not chosen by a condition, because drivers have got the length of shared arrays wrong that was. With
// NORMALISED_AHEAD the rows are normalised before the product, and no squares are summed up.
#ifdef NORMALISED_AHEAD
const uint RMS = 0;
#else
const uint RMS = (NORM + 1) / 2 % 2;
#endif
const uint SUMS = OUTPUTS + RMS * TILE_M;

// The column of b behind column j of the tile that begins at `first`. With GATE the halves of a tile lie in the halves
// of b.
uint column_of_b(uint first, uint j)
{
    if (GATE == 0)
        return min(first + j, p.n - 1);
    return min(first / 2 + j % (TILE_N / 2), p.d_n - 1) + (j < TILE_N / 2 ? 0 : p.d_n);
}

#endif

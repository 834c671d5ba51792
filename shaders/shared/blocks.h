// Weights of matrix products in blocks of 32 elements along k, in panels. A panel of 32 columns is k / 32 tiles that
// follow each other. A tile is square: it holds one block of each of the 32 columns, in words:
//   16 words of heads, 16 bits each, of columns 2i and 2i + 1; then
//   q8: (8, 32): 4 signed bytes of a column, lowest first
//   q4: (4, 32): 8 nibbles of a column, lowest first
// A head is the scale, a half. In q4 its lowest four bits are the zero instead, and count as 0 in the scale. An element
// is scale * q (q8) or scale * (q - zero) (q4). Columns beyond n are zeros. vkf_gemm_params.ldb remains the distance
// between panels in elements, 32 k; b_offset counts words, and b begins at a multiple of 16 bytes.
#ifndef VKF_SHARED_BLOCKS_H
#define VKF_SHARED_BLOCKS_H

#include "gemm.h"

#define VKF_BLOCKS_DEPTH 32u     // elements of a block, along k
#define VKF_BLOCKS_ALIGNMENT 16u // bytes
#define VKF_BLOCKS_HEAD 16u      // words of a tile before its elements
#define VKF_BLOCKS_Q8_WORDS 272u // of a tile
#define VKF_BLOCKS_Q4_WORDS 144u

// Values of VKF_GEMM_SPEC_B_LAYOUT besides VKF_GEMM_B_*.
#define VKF_GEMM_B_Q8 3
#define VKF_GEMM_B_Q4 4

// Values of VKF_GEMM_SPEC_HAS_BIAS: the bias beside such weights has a type of its own.
#define VKF_BLOCKS_BIAS_NONE 0
#define VKF_BLOCKS_BIAS_F32 1
#define VKF_BLOCKS_BIAS_F16 2
#define VKF_BLOCKS_BIAS_BF16 3

#endif

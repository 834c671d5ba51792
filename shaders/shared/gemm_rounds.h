// The specialisation constant of products that round the rows of a by themselves (gemm_dot.comp with GEMM_DOT_ROUNDS),
// beside those of products of few rows in gemm.h. With NORM, the factor of an RMSNorm's row is applied before rows are
// rounded.
//
// A workgroup keeps its rounded rows in shared memory, whose length therefore follows from the depth. A weight's depth
// never changes, and products of other depths mostly differ in other constants, too: this makes hardly any more
// pipelines.
#ifndef VKF_SHARED_GEMM_ROUNDS_H
#define VKF_SHARED_GEMM_ROUNDS_H

#include "gemm.h"

#define VKF_GEMM_SPEC_KEPT_BLOCKS VKF_GEMM_FEW_ROWS_SPEC_COUNT // of a row, at least k / VKF_BLOCKS_DEPTH
#define VKF_GEMM_ROUNDS_SPEC_COUNT (VKF_GEMM_FEW_ROWS_SPEC_COUNT + 1)

#define VKF_GEMM_ROUNDS_BLOCK_BYTES 40u // of a rounded block in shared memory: its bytes, and two floats

#endif

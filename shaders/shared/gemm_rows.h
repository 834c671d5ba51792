// What gemm.h has for kernels that are compiled for the rows of b, which have no SPLIT.
#ifndef VKF_SHARED_GEMM_ROWS_H
#define VKF_SHARED_GEMM_ROWS_H

#include "gemm.h"

#define VKF_GEMM_SPEC_B_ROW VKF_GEMM_SPEC_COUNT // elements from a step of k to the next: ldb of (k, n), or PANEL
#define VKF_GEMM_ROWS_SPEC_COUNT (VKF_GEMM_SPEC_COUNT + 1)

#endif

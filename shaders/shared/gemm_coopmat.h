// Specialisation constants that the cooperative-matrix kernels have besides those of gemm.h: the fragment's shape,
// which is one that the device lists.
#ifndef VKF_SHARED_GEMM_COOPMAT_H
#define VKF_SHARED_GEMM_COOPMAT_H

#include "gemm.h"

#define VKF_GEMM_SPEC_FRAGMENT_M 12
#define VKF_GEMM_SPEC_FRAGMENT_N 13
#define VKF_GEMM_SPEC_FRAGMENT_K 14
#define VKF_GEMM_COOPMAT_SPEC_COUNT 15

#endif

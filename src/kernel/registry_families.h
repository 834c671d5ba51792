// The families of kernels. Each has a file of its own with its rows.
#ifndef VKF_KERNEL_REGISTRY_FAMILIES_H
#define VKF_KERNEL_REGISTRY_FAMILIES_H

#include "kernel/registry.h"

typedef struct vkf__family {
    const vkf__kernel *rows;
    uint32_t count;
} vkf__family;

extern const vkf__family vkf__gemm_family;
extern const vkf__family vkf__gemm_matrix_family;
extern const vkf__family vkf__gemv_family;
extern const vkf__family vkf__gemm_blocks_family;
extern const vkf__family vkf__software_gemm_family;
extern const vkf__family vkf__attention_family;
extern const vkf__family vkf__attention_reduce_family;
extern const vkf__family vkf__attention_grad_family;
extern const vkf__family vkf__software_attention_family;
extern const vkf__family vkf__rows_family;
extern const vkf__family vkf__grad_rows_family;
extern const vkf__family vkf__flat_family;
extern const vkf__family vkf__train_family;
extern const vkf__family vkf__grad_flat_family;
extern const vkf__family vkf__roof_family;

#endif

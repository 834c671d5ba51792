// Ranks that kernels of more than one family share; see vkf__kernel.rank.
#ifndef VKF_KERNEL_REGISTRY_RANK_H
#define VKF_KERNEL_REGISTRY_RANK_H

#include "kernel/registry.h"

// Ahead of tiles for up to eight rows, on any device. Kernels for processors come before both.
uint32_t vkf__rank_few_rows(const vkf__caps *caps, const vkf__problem *problem);

// Whether products of m rows with a weight in blocks of this type, k deep, are faster by integer dot products.
bool vkf__integer_dot_pays(const vkf__traits *traits, vkf_dtype weight, uint32_t m, uint32_t k);

// For cooperative matrices, which are preferred where there are enough rows to fill them.
uint32_t vkf__rank_matrix(const vkf__caps *caps, const vkf__problem *problem);

// For kernels on storage buffers without shared memory, which processors prefer.
uint32_t vkf__rank_direct(const vkf__caps *caps, const vkf__problem *problem);

#endif

// Ranks of the kernels that only software rasterisers want, for products and for attention.
#ifndef VKF_KERNEL_REGISTRY_SOFTWARE_H
#define VKF_KERNEL_REGISTRY_SOFTWARE_H

#include "kernel/registry_rank.h"

// For kernels that read texel buffers of four elements.
uint32_t vkf__rank_texel(const vkf__caps *caps, const vkf__problem *problem);

// For kernels that read through device addresses.
uint32_t vkf__rank_address(const vkf__caps *caps, const vkf__problem *problem);

#endif

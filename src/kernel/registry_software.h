// Ranks of the kernels that software rasterisers alone want: those of products, and those of attention.
#ifndef VKF_KERNEL_REGISTRY_SOFTWARE_H
#define VKF_KERNEL_REGISTRY_SOFTWARE_H

#include "kernel/registry_rank.h"

// Through texel buffers of four elements.
uint32_t vkf__rank_texel(const vkf__caps *caps, const vkf__problem *problem);

// By device addresses.
uint32_t vkf__rank_address(const vkf__caps *caps, const vkf__problem *problem);

#endif

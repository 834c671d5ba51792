// Matrix products with few tiles and much depth: the depth is shared out among workgroups, a second step adds the parts.
#ifndef VKF_OP_GEMM_SPLIT_H
#define VKF_OP_GEMM_SPLIT_H

#include "op/gemm.h"

// Into how many parts the depth of a product is best cut on this device; 1: not at all. At maximum sizes.
uint32_t vkf__gemm_splits(const vkf__work *work, const vkf__gemm_args *args);

// The product in `splits` parts, which were chosen above. `problem` is the product's.
VKF_MUST_CHECK vkf_status vkf__emit_split_gemm(vkf__work *work, const vkf__gemm_args *args, const vkf__problem *problem,
                                               uint32_t splits);

#endif

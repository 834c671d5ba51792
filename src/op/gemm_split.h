// Matrix products with few tiles and great depth: several workgroups share the depth of a tile, and a second dispatch
// adds up their parts.
#ifndef VKF_OP_GEMM_SPLIT_H
#define VKF_OP_GEMM_SPLIT_H

#include "op/gemm.h"

// Into how many parts the depth of a product should be cut on this device, at maximum sizes; 1: it is not cut. `whole`
// is the variant that takes the uncut problem: it is cut only where its tiles leave half of the cores without work, and
// where it can leave parts itself, because others would lose more than the cut gains. Products of few rows are not cut.
uint32_t vkf__gemm_splits(const vkf__work *work, const vkf__gemm_args *args, const vkf__problem *problem,
                          const vkf__variant *whole);

// Emits the product in `splits` parts, a number that vkf__gemm_splits() gave. `problem` is the product's.
VKF_MUST_CHECK vkf_status vkf__emit_split_gemm(vkf__work *work, const vkf__gemm_args *args, const vkf__problem *problem,
                                               uint32_t splits);

#endif

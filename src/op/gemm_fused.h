// Products that normalise their input, gate their output, or both, in one dispatch.
#ifndef VKF_OP_GEMM_FUSED_H
#define VKF_OP_GEMM_FUSED_H

#include "op/gemm.h"

// Whether the product with its norm and gate is one dispatch more than rounding a for integer dot products, where the
// device does that, and goes to the kernel that does it without them. Decided at maximum sizes.
bool vkf__gemm_fuses(const vkf__work *work, const vkf__gemm_args *args);

// The same for a Linear's product.
bool vkf__linear_fuses(const vkf__work *work, const vkf__linear_args *args);

#endif

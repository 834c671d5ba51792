// Products with weights in blocks by integer dot products: activations are rounded to blocks of signed bytes first.
#ifndef VKF_OP_GEMM_DOT_H
#define VKF_OP_GEMM_DOT_H

#include "op/gemm.h"

// Whether a context does so of its own accord: where the device's integer dot products are accelerated, and none of both
// features is masked. Processors gain nothing.
bool vkf__prefers_integer_dot(const vkf_context *context);

// Whether a kernel is for such products alone.
bool vkf__is_for_integer_dot(const vkf__kernel *kernel);

// Whether this product is done so, at maximum sizes: where the context prefers it, and the kernels for it serve and are
// not known to be wrong; or where vkf_context_desc.variant asks for such a kernel, and for no other that serves.
bool vkf__gemm_dot_pays(const vkf__work *work, const vkf__gemm_args *args);

// Rounds a, and makes *out_args the product of the result.
VKF_MUST_CHECK vkf_status vkf__emit_gemm_dot_rows(vkf__work *work, const vkf__gemm_args *args,
                                                  vkf__gemm_args *out_args);

#endif

// Multiplies by weights in blocks with integer dot products, for which activations are rounded to blocks of signed
// bytes: by a dispatch of its own, or for few rows by the product's kernel itself.
#ifndef VKF_OP_GEMM_DOT_H
#define VKF_OP_GEMM_DOT_H

#include "op/gemm.h"

// Whether a context takes a kernel for a problem without being asked, as far as integer dot products decide: one that
// serves such products only, where the device's traits say that they pay. Processors gain nothing by them.
bool vkf__allows_for_integer_dot(const vkf_context *context, const vkf__kernel *kernel, const vkf__problem *problem);

// Whether a dispatch of its own rounds the rows of this product, decided at maximum sizes. It does where the device's
// traits say that dot products pay and no kernel rounds the rows by itself, or where vkf_context_desc.variant names a
// kernel for rounded rows and no other one that serves. Its kernels must serve the product and must not be known to be
// wrong.
bool vkf__gemm_dot_pays(const vkf__work *work, const vkf__gemm_args *args);

// Whether what rounds the rows of this product can gate them, too.
bool vkf__gemm_dot_gates(const vkf__work *work, const vkf__gemm_args *args);

// The product as it is once a lies in blocks, which are normalised or gated where that was asked for.
vkf__gemm_args vkf__gemm_dot_product(const vkf__gemm_args *args);

// Emits the rounding of a. *out_args becomes the product with the rounded a.
VKF_MUST_CHECK vkf_status vkf__emit_gemm_dot_rows(vkf__work *work, const vkf__gemm_args *args,
                                                  vkf__gemm_args *out_args);

#endif

// Packs weights into the layout that matrix products read best: panels of VKF_GEMM_PANEL columns, depth first.
#ifndef VKF_OP_PACK_H
#define VKF_OP_PACK_H

#include "op/operand.h"

// The elements of n columns of depth k in panels. The last panel is filled up with zeros.
uint64_t vkf__packed_elements(uint32_t n, uint32_t k);

// Whether the device multiplies by this weight faster if it lies in panels, as far as is known.
bool vkf__wants_panels(const vkf_context *context, const vkf_dtype types[3], uint32_t n, uint32_t k);

typedef struct vkf__pack_args {
    const char *label;
    vkf__span x; // (n, k) with `transposed`, as PyTorch keeps a Linear's weight; else (k, n)
    uint32_t n, k;
    uint32_t ld; // elements between rows of x as stored
    bool transposed;
} vkf__pack_args;

// Packs into a temporary of the same type, which becomes *out_panels.
VKF_MUST_CHECK vkf_status vkf__emit_pack(vkf__work *work, const vkf__pack_args *args, vkf__span *out_panels);
// Packs into `panels`, which holds vkf__packed_elements() elements.
VKF_MUST_CHECK vkf_status vkf__emit_pack_into(vkf__work *work, const vkf__pack_args *args, const vkf__span *panels);

// Packs a weight (n, k) in rows into one in panels of the same shape and type, and waits. Both must have been checked.
VKF_MUST_CHECK vkf_status vkf__pack(vkf_context *context, const vkf_tensor *rows, const vkf_tensor *panels);

// Whether selection ranks the kernel for a product with its weight in panels before the one for it in rows. `panels` is
// the product with the weight in panels.
bool vkf__ranks_panels_first(const vkf__selector *selector, const vkf_dtype types[3], const vkf__problem *panels);

#endif

// Cuts tensors whose elements are handled one by one into slices that a device binds.
#ifndef VKF_OP_SLICES_H
#define VKF_OP_SLICES_H

#include "op/operand.h"

typedef struct vkf__slices {
    uint32_t most;  // elements at maximum sizes
    uint32_t count; // in this run
    uint32_t each;  // at most, of a slice
    uint64_t at;
} vkf__slices;

typedef struct vkf__slice {
    uint32_t begin;
    uint32_t most;  // elements at maximum sizes
    uint32_t count; // in this run, which may be none
} vkf__slice;

// `count` elements, of which the widest operand has `element_bytes` each. All slices but the last have a multiple of
// `step` elements. The emitter emits the same slices in every run.
VKF_MUST_CHECK vkf_status vkf__slices_begin(vkf__work *work, uint32_t count, uint32_t element_bytes, uint32_t step,
                                            vkf__slices *out_slices);
// False after the last one. Of no elements there is one slice, so that there is a dispatch to skip.
bool vkf__slices_next(vkf__slices *slices, vkf__slice *out_slice);

#endif

// Tensors as operands of dispatches: from a caller's view to a span, with every size checked.
#ifndef VKF_OP_OPERAND_H
#define VKF_OP_OPERAND_H

#include <vkformer/op.h>

#include "kernel/work.h"

// The whole tensor as a span; absent for rank 0. The tensor was checked before.
vkf__span vkf__span_of(const vkf_tensor *tensor);

// `count` elements from element `first` on.
vkf__span vkf__span_part(const vkf__span *span, uint64_t first, uint64_t count);

static inline bool vkf__present(const vkf__span *span)
{
    return span->size_bytes > 0;
}

#endif

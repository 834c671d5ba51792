// Turns a caller's tensors into spans, the operands of dispatches, with every size checked.
#ifndef VKF_OP_OPERAND_H
#define VKF_OP_OPERAND_H

#include <vkformer/op.h>

#include "kernel/work.h"

// The whole tensor as a span; absent for rank 0. The tensor must have been checked.
vkf__span vkf__span_of(const vkf_tensor *tensor);

// `count` elements of a span, from element `first` on. In a span of blocks both are multiples of a block, and elements
// count in the order in which they are stored.
vkf__span vkf__span_part(const vkf__span *span, uint64_t first, uint64_t count);

// Whether `second` begins where `first` ends, so that both can be one operand.
bool vkf__span_follows(const vkf__span *first, const vkf__span *second);

// From the beginning of `first` to the end of `last`; absent where `first` is.
vkf__span vkf__span_joined(const vkf__span *first, const vkf__span *last);

// Whether one operand of a dispatch can hold both, the first ahead of the second, whatever lies between them.
bool vkf__is_one_operand(const vkf__work *work, const vkf__span *first, const vkf__span *second);

// From the beginning of `first` to that of `second`, in elements of their type, which one operand can hold.
uint64_t vkf__elements_between(const vkf__span *first, const vkf__span *second);

static inline bool vkf__present(const vkf__span *span)
{
    return span->size_bytes > 0;
}

#endif

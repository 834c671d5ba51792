// The sum of all elements of a tensor, or of their squares, in an order that never changes.
#ifndef VKF_OP_TOTAL_H
#define VKF_OP_TOTAL_H

#include "op/operand.h"

typedef struct vkf__total_args {
    const char *label;
    vkf__span x;     // (count)
    vkf__span out;   // (1): factor * sum; one slot of several, for which vkf__span_part() serves
    uint32_t count;  // 0 skips it in this run
    bool squares;    // each element is squared first; NaN and infinities reach `out`
    bool accumulate; // the sum is added to what is in `out`, which else is not read
    float factor;
} vkf__total_args;

// Tensors beyond what a device binds are taken in slices. Runs of up to VKF_TOTAL_PART elements take one dispatch.
VKF_MUST_CHECK vkf_status vkf__emit_total(vkf__work *work, const vkf__total_args *args);

#endif

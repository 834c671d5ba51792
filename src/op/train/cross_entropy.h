// The loss of rows of logits whose labels are known, and its gradient, as torch.nn.CrossEntropyLoss has both.
#ifndef VKF_OP_CROSS_ENTROPY_H
#define VKF_OP_CROSS_ENTROPY_H

#include "op/operand.h"

typedef struct vkf__cross_entropy_args {
    const char *label;
    vkf__span logits;   // (rows, cols)
    vkf__span labels;   // (rows), i32; one that is no column, and is not `ignored`, makes its row NaN
    vkf__span loss;     // (rows)
    vkf__span gradient; // optional, (rows, cols): of factor * (sum of the losses); may be the logits
    uint32_t rows;      // 0 skips it in this run
    uint32_t cols;
    int32_t ignored; // rows with this label give loss and gradient 0, whatever their logits are
    float smoothing; // 0 to 1
    float factor;    // for the mean: the loss scale over the number of rows that are not ignored
} vkf__cross_entropy_args;

// Status TOO_LARGE for more than VKF_CROSS_ENTROPY_MOST_COLS columns, or 2^32 - 1 logits.
VKF_MUST_CHECK vkf_status vkf__emit_cross_entropy(vkf__work *work, const vkf__cross_entropy_args *args);

// Checks that all labels but the ignored ones are columns, and counts those that are. Status INVALID_ARGUMENT, with the
// place and the value of the first other one.
VKF_MUST_CHECK vkf_status vkf__check_labels(const vkf__host *host, const int32_t *labels, uint32_t rows, uint32_t cols,
                                            int32_t ignored, uint32_t *out_count);

#endif

// Cross entropy of rows of logits, as torch.nn.CrossEntropyLoss has it for classes by number. Of a row x with label y,
// with p = softmax(x), V columns and smoothing e:
//   loss[row]     = (1 - e) * -log p[y] + e / V * (sum of -log p)
//   gradient[row] = factor * (p - e / V), less factor * (1 - e) in column y
// Both are 0 where the label is `ignored`, whatever the logits are, and NaN where it is no column. The gradient may
// take the place of the logits. A workgroup takes a row.
#ifndef VKF_SHARED_CROSS_ENTROPY_H
#define VKF_SHARED_CROSS_ENTROPY_H

#include "types.h"

#define VKF_CROSS_ENTROPY_BINDING_LOSS 1
#define VKF_CROSS_ENTROPY_BINDING_LABELS 2
#define VKF_CROSS_ENTROPY_BINDING_LOGITS 3
#define VKF_CROSS_ENTROPY_BINDING_GRADIENT 4

#define VKF_CROSS_ENTROPY_SPEC_HAS_GRADIENT 1
#define VKF_CROSS_ENTROPY_SPEC_COUNT 2

// The most columns of a row, which invocations take in steps of eight each.
#define VKF_CROSS_ENTROPY_MOST_COLS (1u << 24)

struct vkf_cross_entropy_params {
    vkf_u32 rows;
    vkf_u32 cols;
    vkf_i32 ignored; // a label
    vkf_f32 smoothing;
    vkf_f32 factor; // of the gradient
};
VKF_SHARED_SIZE(vkf_cross_entropy_params, 5)

#endif

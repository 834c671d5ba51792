// Steps of optimisers, in place, as torch.optim has them. Tensors beyond what a device binds are taken in slices.
//
// The gradient's factor lies on the device: where clipping and loss scaling find it (clip.h), no run waits for the
// host. A factor of 0 skips the step, and then only the gradient is written: it is 0 after every step, for the next
// one's sums.
#ifndef VKF_OP_OPTIMISER_H
#define VKF_OP_OPTIMISER_H

#include "op/operand.h"

typedef struct vkf__adam_args {
    const char *label;
    vkf__span parameter; // (count)
    vkf__span gradient;  // (count): left at 0
    // (count, 2): the first and the second moment of each element, side by side, so that slices of both are one
    // operand. Zeros before the first step.
    vkf__span moments;
    vkf__span factor; // (1)
    uint32_t count;   // 0 skips it in this run
    uint32_t step;    // from 1; steps that were skipped do not count
    double rate, beta1, beta2, eps;
    double weight_decay;
    bool decoupled; // AdamW: weights decay beside the gradient's step; else the decay is part of the gradient
} vkf__adam_args;

VKF_MUST_CHECK vkf_status vkf__emit_adam(vkf__work *work, const vkf__adam_args *args);

typedef struct vkf__sgd_args {
    const char *label;
    vkf__span parameter;       // (count)
    vkf__span gradient;        // (count): left at 0
    vkf__span momentum_buffer; // (count) with a momentum: zeros before the first step. Else absent
    vkf__span factor;          // (1)
    uint32_t count;            // 0 skips it in this run
    float rate, momentum, weight_decay;
    bool nesterov; // with a momentum
} vkf__sgd_args;

VKF_MUST_CHECK vkf_status vkf__emit_sgd(vkf__work *work, const vkf__sgd_args *args);

#endif

// Finds the most probable tokens of each row of logits, in descending order. shared/top.h says how.
#ifndef VKF_OP_TOP_H
#define VKF_OP_TOP_H

#include "op/operand.h"

typedef struct vkf__top_args {
    const char *label;
    vkf__span x;    // (rows, cols) f32
    vkf__span seen; // optional, (rows, ceil(cols / 32)) i32: as in vkf__sample_args, but not changed
    vkf__span out;  // (rows, k, 2) f32: ids and log-probabilities
    uint32_t rows;  // 0 skips it in this run
    uint32_t cols;
    uint32_t k;               // at most cols
    float repetition_penalty; // above 0; 1: off
} vkf__top_args;

// Status TOO_LARGE for more than 2^24 columns.
VKF_MUST_CHECK vkf_status vkf__emit_top(vkf__work *work, const vkf__top_args *args);

#endif

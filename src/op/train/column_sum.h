// out = sum over the rows of x: the gradient of a bias. With a norm's input and stats, that of the norm's weight.
#ifndef VKF_OP_COLUMN_SUM_H
#define VKF_OP_COLUMN_SUM_H

#include "op/operand.h"

typedef struct vkf__column_sum_args {
    const char *label;
    vkf__span x;   // (rows, cols) f32
    vkf__span out; // (cols) f32
    // With stats x[row, col] is multiplied by (normed[row, col] - mean) / deviation. Where x is 0, that may be NaN.
    vkf__span normed;    // (rows, cols) f32; with stats
    vkf__span stats;     // optional, (rows, 2) f32: of vkf__emit_layer_norm_grad()
    uint32_t x_row;      // elements from one row of x to the next, and of normed; 0: cols
    uint32_t rows, cols; // rows 0 skips it in this run, and out stays as it is
    bool accumulate;     // the sum is added to out; otherwise out is not read
} vkf__column_sum_args;

// One dispatch, or two where there may be many rows. The order of a sum depends on sizes alone, of the run and of the
// plan. Status TOO_LARGE for operands beyond the device's limits.
VKF_MUST_CHECK vkf_status vkf__emit_column_sum(vkf__work *work, const vkf__column_sum_args *args);

#endif

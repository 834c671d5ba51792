// Draws one token for each row of logits on the device. shared/sample.h says how.
#ifndef VKF_OP_SAMPLE_H
#define VKF_OP_SAMPLE_H

#include "op/execution.h"
#include "op/operand.h"

typedef struct vkf__sample_args {
    const char *label;
    vkf__span x; // (rows, cols) f32
    // Optional, (rows, ceil(cols / 32)) i32: a bit for every token, set if it stands in the row's sequence. The bit of
    // the chosen token is set, too. Absent: nothing is penalised.
    vkf__span seen;
    vkf__span out; // i32, at row * out_stride + out_first
    uint32_t rows; // 0 skips it in this run
    uint32_t cols;
    uint32_t out_stride, out_first;
    bool greedy; // only runs of temperature 0 will come: what the others need is not dispatched at all
    // These may change from run to run.
    float temperature;        // 0: the largest logit, the lowest among equals
    uint32_t top_k;           // 0: off
    float top_p;              // 1: off
    float min_p;              // 0: off; at most 1
    float repetition_penalty; // above 0; 1: off
    uint64_t seed;
    uint32_t step; // different for every token of a sequence
} vkf__sample_args;

// The same input gives the same tokens on one device. Status TOO_LARGE for more than 2^24 columns.
VKF_MUST_CHECK vkf_status vkf__emit_sample(vkf__work *work, const vkf__sample_args *args);

// For the reference and its test: gives every token of a row its probability, which is 0 for those that the thresholds
// exclude; `top` has the largest logit, and the temperature is not 0. *margin becomes no larger than the distance of a
// sum of the most probable tokens from top_p where the next token is less probable. `sorted` is scratch; both are
// (cols).
void vkf__sample_probabilities(const vkf__execution *e, uint64_t row, uint32_t top, double *out, double *sorted,
                               double *margin);

#endif

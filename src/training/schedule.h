// Learning rates that change from step to step: warm-up first, and then a rule.
#ifndef VKF_TRAINING_SCHEDULE_H
#define VKF_TRAINING_SCHEDULE_H

#include <stdint.h>

typedef enum vkf__schedule_kind {
    VKF_SCHEDULE_CONSTANT = 0, // peak
    VKF_SCHEDULE_LINEAR,       // from peak to 0 at `total`
    VKF_SCHEDULE_COSINE,       // the same along half a wave
    // Vaswani et al. 2017, 5.3: peak * d_model^-0.5 * min(n^-0.5, n * warmup^-1.5) for step n, counted from 1. The
    // warm-up is part of the formula, and the paper's own peak is 1.
    VKF_SCHEDULE_INVERSE_ROOT,
} vkf__schedule_kind;

typedef struct vkf__schedule {
    vkf__schedule_kind kind;
    double peak;
    uint64_t warmup;  // steps in which the rate grows from 0 to peak in a line; 0: none
    uint64_t total;   // steps of the whole training, with LINEAR and COSINE
    uint32_t d_model; // with INVERSE_ROOT
} vkf__schedule;

// The rate of the step after `done` steps, as transformers.get_*_schedule_with_warmup has it: with warm-up the first
// step has rate 0, but for INVERSE_ROOT. Behind `total` it stays 0.
double vkf__schedule_rate(const vkf__schedule *schedule, uint64_t done);

#endif

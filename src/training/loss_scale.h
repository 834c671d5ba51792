// Dynamic loss scaling, as torch.cuda.amp.GradScaler has it: gradients that 16-bit floats would lose are made larger,
// and the scale follows what they overflow at.
#ifndef VKF_TRAINING_LOSS_SCALE_H
#define VKF_TRAINING_LOSS_SCALE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct vkf__loss_scale {
    float scale;       // of the next step
    float growth;      // what it is multiplied by after `interval` steps in a row that were not skipped
    float backoff;     // and what after one that was
    uint32_t interval; // 0: the scale stays as it is
    uint32_t counted;  // steps since it changed, or since one was skipped
} vkf__loss_scale;

// 2^16, doubled after 2000 steps, and halved. With these the scale is a power of two, which rounds nothing.
vkf__loss_scale vkf__loss_scale_default(void);

// After a step: `norm` is that of all its gradients. Returns whether the step was taken, which is whether it is finite.
// The scale and its inverse stay numbers whose precision is whole.
bool vkf__loss_scale_update(vkf__loss_scale *scale, float norm);

#endif

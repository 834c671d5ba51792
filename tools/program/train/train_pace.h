// How long a run still takes, by the pace of its last steps: the first ones compile what the later ones only run.
#ifndef VKF_PROGRAM_TRAIN_PACE_H
#define VKF_PROGRAM_TRAIN_PACE_H

#include <stdint.h>

#define VKF_TRAIN_LEFT_BYTES 40

typedef struct vkf_train_mark {
    uint64_t step;
    double ms;
} vkf_train_mark;

// From the earlier mark on at least half of the steps are behind it.
typedef struct vkf_train_pace {
    uint64_t first_step; // of this part of the run
    vkf_train_mark earlier, later, now;
} vkf_train_pace;

vkf_train_pace vkf_train_pace_begin(uint64_t step, double now_ms);
// A step is done; looks at held-out examples and checkpoints between them count, too.
void vkf_train_pace_add(vkf_train_pace *pace, uint64_t step, double now_ms);
// Writes "3 h 05 min left" or "4 min 09 s left".
void vkf_train_pace_left(const vkf_train_pace *pace, uint64_t total_steps, char out_text[VKF_TRAIN_LEFT_BYTES]);

#endif

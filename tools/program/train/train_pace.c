// Keeps two marks, and moves them when the steps behind the later one have doubled.
#include "train/train_pace.h"

#include <inttypes.h>
#include <stdio.h>

vkf_train_pace vkf_train_pace_begin(uint64_t step, double now_ms)
{
    const vkf_train_mark mark = {step, now_ms};
    return (vkf_train_pace){step, mark, mark, mark};
}

void vkf_train_pace_add(vkf_train_pace *pace, uint64_t step, double now_ms)
{
    pace->now = (vkf_train_mark){step, now_ms};
    if (step - pace->first_step < 2 * (pace->later.step - pace->first_step))
        return;
    pace->earlier = pace->later;
    pace->later = pace->now;
}

void vkf_train_pace_left(const vkf_train_pace *pace, uint64_t total_steps, char out_text[VKF_TRAIN_LEFT_BYTES])
{
    const uint64_t steps = pace->now.step - pace->earlier.step, left = total_steps - pace->now.step;
    const double step_ms = (pace->now.ms - pace->earlier.ms) / (double)(steps > 0 ? steps : 1);
    const uint64_t seconds = (uint64_t)(step_ms * (double)left / 1000 + 0.5), minutes = seconds / 60;
    if (minutes >= 60)
        (void)snprintf(out_text, VKF_TRAIN_LEFT_BYTES, "%" PRIu64 " h %02u min left", minutes / 60,
                       (unsigned)(minutes % 60));
    else
        (void)snprintf(out_text, VKF_TRAIN_LEFT_BYTES, "%" PRIu64 " min %02u s left", minutes,
                       (unsigned)(seconds % 60));
}

// How far off the estimate is: published speeds of ggml's Vulkan backend beside what the estimate makes of its
// dispatches.
#ifndef VKF_PROGRAM_PLAN_CALIBRATE_H
#define VKF_PROGRAM_PLAN_CALIBRATE_H

#include <stddef.h>

#include "plan/plan_peer.h"

typedef struct vkf_calibration {
    const char *chip; // of --list-chips
    vkf_peer_run run;
    bool prompt;        // or one token, of 128
    double published;   // tokens per second
    const char *source; // where, and when
    // Why the estimate is more than a quarter off, or NULL.
    const char *unseen;
} vkf_calibration;

extern const vkf_calibration vkf_calibrations[];
extern const size_t vkf_calibration_count;

// Tokens per second; 0, after a message, where the chip cannot be opened.
double vkf_calibration_estimate(const vkf_calibration *calibration);

bool vkf_calibration_print(bool json);

#endif

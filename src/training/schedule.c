// The formulas of learning rates.
#include "training/schedule.h"

#include <math.h>

static double inverse_root(const vkf__schedule *schedule, double step)
{
    const double warmup = schedule->warmup > 0 ? (double)schedule->warmup : 1;
    return fmin(1 / sqrt(step), step * pow(warmup, -1.5)) / sqrt(schedule->d_model);
}

// From 0 at the end of the warm-up to 1 at the end of the training.
static double progress(const vkf__schedule *schedule, uint64_t done)
{
    if (done >= schedule->total)
        return 1;
    return (double)(done - schedule->warmup) / (double)(schedule->total - schedule->warmup);
}

static double share_of_peak(const vkf__schedule *schedule, uint64_t done)
{
    const double pi = 3.14159265358979323846;
    if (schedule->kind == VKF_SCHEDULE_INVERSE_ROOT)
        return inverse_root(schedule, (double)done + 1);
    if (done < schedule->warmup)
        return (double)done / (double)schedule->warmup;
    switch (schedule->kind) {
    case VKF_SCHEDULE_LINEAR:
        return 1 - progress(schedule, done);
    case VKF_SCHEDULE_COSINE:
        return 0.5 * (1 + cos(pi * progress(schedule, done)));
    case VKF_SCHEDULE_CONSTANT:
    case VKF_SCHEDULE_INVERSE_ROOT:
        break;
    }
    return 1;
}

double vkf__schedule_rate(const vkf__schedule *schedule, uint64_t done)
{
    return schedule->peak * share_of_peak(schedule, done);
}

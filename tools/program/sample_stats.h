// Order statistics of measured times.
#ifndef VKF_PROGRAM_SAMPLE_STATS_H
#define VKF_PROGRAM_SAMPLE_STATS_H

#include <stdint.h>

// Both need count > 0. The median sorts `samples` in place; of an even number it is the mean of the middle two.
double vkf_median(double *samples, uint32_t count);
double vkf_minimum(const double *samples, uint32_t count);

#endif

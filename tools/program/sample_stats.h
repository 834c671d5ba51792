// Statistics of measured times.
#ifndef VKF_PROGRAM_SAMPLE_STATS_H
#define VKF_PROGRAM_SAMPLE_STATS_H

#include <stdint.h>

// All need count > 0. The median sorts `samples` in place; of an even number it is the mean of the middle two.
double vkf_median(double *samples, uint32_t count);
double vkf_minimum(const double *samples, uint32_t count);

typedef struct vkf_summary {
    uint32_t count;
    double min, max;
    double mean;
    double median;
    double stddev; // of the population that the samples are drawn from (divisor count - 1); 0 for one sample
    double iqr;    // between the quartiles, which are interpolated linearly: where the middle half lies
} vkf_summary;

// Sorts `samples` in place.
vkf_summary vkf_summarize(double *samples, uint32_t count);

#endif

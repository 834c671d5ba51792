// Statistics of measured times.
#ifndef VKF_PROGRAM_SAMPLE_STATS_H
#define VKF_PROGRAM_SAMPLE_STATS_H

#include <stdbool.h>
#include <stdint.h>

// All of these need count > 0. The median sorts `samples` in place; for an even number it is the mean of the middle
// two.
double vkf_median(double *samples, uint32_t count);
double vkf_minimum(const double *samples, uint32_t count);

typedef struct vkf_summary {
    uint32_t count;
    double min, max;
    double mean;
    double median;
    double stddev;                         // estimated for the population (divisor count - 1); 0 for one sample
    double lower_quartile, upper_quartile; // interpolated linearly
    double iqr;                            // the distance between the quartiles, in which the middle half lies
} vkf_summary;

// Sorts `samples` in place.
vkf_summary vkf_summarize(double *samples, uint32_t count);

// A smaller share is never called a change, however quiet the runs were: clocks and timers drift by as much.
#define VKF_LEAST_CHANGE 0.02

// Whether two medians differ by more than `noise`, which is the wider of the two interquartile ranges, and also by more
// than VKF_LEAST_CHANGE of the first.
bool vkf_beyond_noise(double before, double after, double noise);

#endif

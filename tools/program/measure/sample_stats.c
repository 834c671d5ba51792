// Medians, quartiles and deviations.
#include "measure/sample_stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double middle(const double *sorted, uint32_t count)
{
    double upper = sorted[count / 2];
    return count % 2 ? upper : (sorted[count / 2 - 1] + upper) / 2;
}

double vkf_median(double *samples, uint32_t count)
{
    qsort(samples, count, sizeof *samples, compare);
    return middle(samples, count);
}

double vkf_minimum(const double *samples, uint32_t count)
{
    double smallest = samples[0];
    for (uint32_t i = 1; i < count; i++)
        if (samples[i] < smallest)
            smallest = samples[i];
    return smallest;
}

// Interpolates the value at `fraction` of the way from the first to the last.
static double quantile(const double *sorted, uint32_t count, double fraction)
{
    double place = fraction * (count - 1);
    uint32_t below = (uint32_t)place;
    uint32_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

vkf_summary vkf_summarize(double *samples, uint32_t count)
{
    double sum = 0, squares = 0;
    qsort(samples, count, sizeof *samples, compare);
    for (uint32_t i = 0; i < count; i++)
        sum += samples[i];
    double mean = sum / count;
    for (uint32_t i = 0; i < count; i++)
        squares += (samples[i] - mean) * (samples[i] - mean);
    double lower = quantile(samples, count, 0.25), upper = quantile(samples, count, 0.75);
    return (vkf_summary){
        .count = count,
        .min = samples[0],
        .max = samples[count - 1],
        .mean = mean,
        .median = middle(samples, count),
        .stddev = count > 1 ? sqrt(squares / (count - 1)) : 0,
        .lower_quartile = lower,
        .upper_quartile = upper,
        .iqr = upper - lower,
    };
}

bool vkf_beyond_noise(double before, double after, double noise)
{
    double difference = fabs(after - before);
    return difference > noise && difference > VKF_LEAST_CHANGE * before;
}

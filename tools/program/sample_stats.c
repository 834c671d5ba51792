#include "sample_stats.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

double vkf_median(double *samples, uint32_t count)
{
    qsort(samples, count, sizeof *samples, compare);
    double upper = samples[count / 2];
    return count % 2 ? upper : (samples[count / 2 - 1] + upper) / 2;
}

double vkf_minimum(const double *samples, uint32_t count)
{
    double smallest = samples[0];
    for (uint32_t i = 1; i < count; i++)
        if (samples[i] < smallest)
            smallest = samples[i];
    return smallest;
}

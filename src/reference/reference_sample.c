// Sampling and the most probable tokens.
#include <math.h>
#include <stdlib.h>

#include "base/philox.h"
#include "reference/reference.h"

static double penalised(const vkf__ref_sample_desc *desc, uint32_t col)
{
    float value = desc->x[col], penalty = desc->repetition_penalty;
    bool seen = desc->seen && (desc->seen[col / 32] >> (col % 32) & 1);
    return !seen ? (double)value : value < 0 ? (double)(value * penalty) : (double)(value / penalty);
}

uint32_t vkf__ref_sample_largest(const vkf__ref_sample_desc *desc)
{
    uint32_t best = 0;
    for (uint32_t col = 1; col < desc->cols && !isnan(penalised(desc, best)); col++)
        if (isnan(penalised(desc, col)) || penalised(desc, col) > penalised(desc, best))
            best = col;
    return best;
}

static int compare_descending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a < b) - (a > b);
}

// Drops what is below the threshold, and makes the rest sum up to 1 again.
static void keep(double *probabilities, uint32_t cols, double threshold)
{
    double sum = 0;
    for (uint32_t i = 0; i < cols; i++)
        sum += probabilities[i] >= threshold ? probabilities[i] : 0;
    for (uint32_t i = 0; i < cols; i++)
        probabilities[i] = probabilities[i] >= threshold ? probabilities[i] / sum : 0;
}

static void sort_copy(const double *values, uint32_t count, double *out)
{
    for (uint32_t i = 0; i < count; i++)
        out[i] = values[i];
    qsort(out, count, sizeof *out, compare_descending);
}

void vkf__ref_sample_probabilities(const vkf__ref_sample_desc *desc, double *out, double *sorted)
{
    const uint32_t cols = desc->cols, top = vkf__ref_sample_largest(desc);
    double peak = penalised(desc, top), reached = 0;
    for (uint32_t i = 0; i < cols; i++)
        out[i] = i == top;
    if (desc->temperature == 0 || !isfinite(peak))
        return;
    for (uint32_t i = 0; i < cols; i++)
        out[i] = exp((penalised(desc, i) - peak) / (double)desc->temperature);
    if (desc->top_k > 0 && desc->top_k < cols) {
        sort_copy(out, cols, sorted);
        keep(out, cols, sorted[desc->top_k - 1]);
    }
    keep(out, cols, 0);
    if (desc->top_p < 1) {
        uint32_t last = 0;
        sort_copy(out, cols, sorted);
        for (reached = sorted[0]; reached < (double)desc->top_p && last + 1 < cols; last++)
            reached += sorted[last + 1];
        keep(out, cols, sorted[last]);
    }
    keep(out, cols, desc->min_p * out[top]);
}

uint32_t vkf__ref_sample(const vkf__ref_sample_desc *desc, uint32_t row, double *probabilities, double *sorted,
                         double *out_margin)
{
    const uint32_t counter[4] = {row, desc->step}, key[2] = {(uint32_t)desc->seed, (uint32_t)(desc->seed >> 32)};
    uint32_t words[4], chosen = 0;
    vkf__philox(counter, key, words);
    double place = words[0] / 4294967296.0, below = 0;
    vkf__ref_sample_probabilities(desc, probabilities, sorted);
    for (uint32_t i = 0; i < desc->cols; i++) {
        double above = below + probabilities[i];
        if (probabilities[i] > 0 && place >= below) {
            chosen = i;
            *out_margin = fmin(below == 0 ? 1 : place - below, above > 1 - 1e-12 ? 1 : above - place);
        }
        below = above;
    }
    return chosen;
}

static double log_probability(double value, double log_sum, bool penalised, float penalty)
{
    value -= log_sum;
    return !penalised ? value : value < 0 ? value * (double)penalty : value / (double)penalty;
}

// Whether `first`, which has the lower id, ranks before `second`. NaN ranks before all numbers.
static bool goes_before(double first, double second)
{
    return isnan(first) || !(second > first || isnan(second));
}

void vkf__ref_top(uint32_t cols, const float *x, const uint32_t *seen, float repetition_penalty, uint32_t k, float *out)
{
    double peak = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < cols; i++)
        peak = x[i] > peak ? x[i] : peak;
    for (uint32_t i = 0; i < cols; i++)
        sum += exp(x[i] - peak);
    const double log_sum = peak + log(sum);
    for (uint32_t made = 0; made < k; made++) {
        double best = 0;
        uint32_t best_col = UINT32_MAX;
        for (uint32_t col = 0; col < cols; col++) {
            bool penalised = seen && (seen[col / 32] >> (col % 32) & 1), taken = false;
            double value = log_probability((double)x[col], log_sum, penalised, repetition_penalty);
            for (uint32_t i = 0; i < made; i++)
                taken = taken || (uint32_t)out[2 * i] == col;
            if (taken || (best_col != UINT32_MAX && goes_before(best, value)))
                continue;
            best = value;
            best_col = col;
        }
        out[2 * made] = (float)best_col;
        out[2 * made + 1] = (float)best;
    }
}

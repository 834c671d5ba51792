// The gradients of operators on rows, and sums over rows.
#include "reference/reference.h"

#include <math.h>

typedef struct row_moments {
    double mean, inverse_deviation;
} row_moments;

static row_moments moments_of(const float *x, uint32_t dim, double eps, bool rms)
{
    row_moments found = {0};
    double variance = 0;
    for (uint32_t i = 0; i < dim && !rms; i++)
        found.mean += (double)x[i] / dim;
    for (uint32_t i = 0; i < dim; i++)
        variance += (x[i] - found.mean) * (x[i] - found.mean) / dim;
    found.inverse_deviation = 1 / sqrt(variance + eps);
    return found;
}

static double gradient_at(const vkf__ref_layer_norm_grad_desc *desc, size_t row, uint32_t i)
{
    return (double)desc->dout[row * desc->dim + i] * (desc->weight ? (double)desc->weight[i] : 1);
}

static bool has_gradient(const vkf__ref_layer_norm_grad_desc *desc, size_t row)
{
    bool any = false;
    for (uint32_t i = 0; i < desc->dim; i++)
        any = any || gradient_at(desc, row, i) != 0;
    return any;
}

static void layer_norm_grad_row(const vkf__ref_layer_norm_grad_desc *desc, size_t row, const row_moments *moments)
{
    const float *x = desc->x + row * desc->dim;
    float *dx = desc->dx + row * desc->dim;
    const bool any = has_gradient(desc, row);
    double mean = 0, slope = 0;
    for (uint32_t i = 0; i < desc->dim && any; i++) {
        const double gradient = gradient_at(desc, row, i);
        mean += desc->rms ? 0 : gradient / desc->dim;
        slope += gradient * (x[i] - moments->mean) * moments->inverse_deviation / desc->dim;
    }
    for (uint32_t i = 0; i < desc->dim; i++) {
        const double normed = (x[i] - moments->mean) * moments->inverse_deviation;
        const double own = gradient_at(desc, row, i) - mean - normed * slope;
        const double value = any ? own * moments->inverse_deviation : 0;
        dx[i] = (float)(desc->accumulate ? dx[i] + value : value);
    }
}

void vkf__ref_layer_norm_grad(const vkf__ref_layer_norm_grad_desc *desc)
{
    for (size_t row = 0; row < desc->rows; row++) {
        const row_moments moments = moments_of(desc->x + row * desc->dim, desc->dim, (double)desc->eps, desc->rms);
        if (desc->stats) {
            desc->stats[2 * row] = (float)moments.mean;
            desc->stats[2 * row + 1] = (float)moments.inverse_deviation;
        }
        layer_norm_grad_row(desc, row, &moments);
    }
}

void vkf__ref_column_sum(const vkf__ref_column_sum_desc *desc)
{
    for (size_t col = 0; col < desc->cols; col++) {
        double sum = desc->accumulate ? (double)desc->out[col] : 0;
        for (size_t row = 0; row < desc->rows; row++) {
            double value = desc->x[row * desc->cols + col];
            if (desc->stats && value != 0)
                value *=
                    ((double)desc->normed[row * desc->cols + col] - desc->stats[2 * row]) * desc->stats[2 * row + 1];
            sum += value;
        }
        desc->out[col] = (float)sum;
    }
}

void vkf__ref_softmax_grad(uint32_t rows, uint32_t cols, float scale, const float *y, const float *dout, float *dx)
{
    for (size_t row = 0; row < rows; row++) {
        const size_t first = row * cols;
        double mean = 0;
        for (size_t at = first; at < first + cols; at++)
            mean += y[at] != 0 ? (double)y[at] * dout[at] : 0;
        for (size_t at = first; at < first + cols; at++)
            dx[at] = y[at] != 0 ? (float)((double)scale * y[at] * (dout[at] - mean)) : 0;
    }
}

// What training adds to the layers: losses, norms of gradients, and optimisers.
#include "reference/reference.h"

#include <math.h>

static void fill(float *values, size_t count, float value)
{
    for (size_t i = 0; values && i < count; i++)
        values[i] = value;
}

// -log p of column i is log_sum - x[i].
static double log_sum_exp(const float *x, uint32_t cols)
{
    double maximum = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < cols; i++)
        maximum = (double)x[i] > maximum ? x[i] : maximum;
    for (uint32_t i = 0; i < cols; i++)
        sum += exp(x[i] - maximum);
    return maximum + log(sum);
}

static void cross_entropy_row(const vkf__ref_cross_entropy_desc *desc, const float *x, uint32_t label, float *loss,
                              float *gradient)
{
    const double log_sum = log_sum_exp(x, desc->cols), smoothing = desc->smoothing, spread = smoothing / desc->cols;
    double total = (1 - smoothing) * (log_sum - x[label]);
    for (uint32_t i = 0; i < desc->cols && smoothing != 0; i++)
        total += spread * (log_sum - x[i]);
    *loss = (float)total;
    for (uint32_t i = 0; gradient && i < desc->cols; i++)
        gradient[i] = (float)(desc->factor * (exp(x[i] - log_sum) - spread - (i == label ? 1 - smoothing : 0)));
}

void vkf__ref_cross_entropy(const vkf__ref_cross_entropy_desc *desc)
{
    for (size_t row = 0; row < desc->rows; row++) {
        const int32_t label = desc->labels[row];
        const float *x = &desc->logits[row * desc->cols];
        float *gradient = desc->gradient ? &desc->gradient[row * desc->cols] : NULL;
        if (label != desc->ignored && label >= 0 && (uint32_t)label < desc->cols) {
            cross_entropy_row(desc, x, (uint32_t)label, &desc->loss[row], gradient);
            continue;
        }
        desc->loss[row] = label == desc->ignored ? 0.0f : NAN;
        fill(gradient, desc->cols, desc->loss[row]);
    }
}

double vkf__ref_total(size_t count, const float *x, bool squares)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += squares ? (double)x[i] * x[i] : x[i];
    return sum;
}

void vkf__ref_clip(uint32_t count, const float *squares, float max_norm, float loss_scale, float out[2])
{
    const double norm = sqrt(vkf__ref_total(count, squares, false)) / loss_scale;
    const double limit = max_norm > 0 ? max_norm / (norm + 1e-6) : 1;
    out[0] = isfinite(norm) ? (float)((limit < 1 ? limit : 1) / loss_scale) : 0.0f;
    out[1] = (float)norm;
}

void vkf__ref_adam(const vkf__ref_adam_desc *desc)
{
    const double rate = desc->rate / (1 - pow(desc->beta1, desc->step));
    const double root = sqrt(1 - pow(desc->beta2, desc->step));
    for (size_t i = 0; i < desc->count && desc->factor != 0; i++) {
        double w = desc->parameter[i], g = desc->factor * desc->gradient[i];
        if (desc->decoupled)
            w -= desc->rate * desc->weight_decay * w;
        else
            g += desc->weight_decay * w;
        const double m = desc->beta1 * desc->moments[2 * i] + (1 - desc->beta1) * g;
        const double v = desc->beta2 * desc->moments[2 * i + 1] + (1 - desc->beta2) * g * g;
        desc->moments[2 * i] = (float)m;
        desc->moments[2 * i + 1] = (float)v;
        desc->parameter[i] = (float)(w - rate * m / (sqrt(v) / root + desc->eps));
    }
}

void vkf__ref_sgd(const vkf__ref_sgd_desc *desc)
{
    for (size_t i = 0; i < desc->count && desc->factor != 0; i++) {
        const double g = desc->factor * desc->gradient[i] + desc->weight_decay * desc->parameter[i];
        double way = g;
        if (desc->momentum_buffer) {
            const double b = desc->momentum * desc->momentum_buffer[i] + g;
            desc->momentum_buffer[i] = (float)b;
            way = desc->nesterov ? g + desc->momentum * b : b;
        }
        desc->parameter[i] = (float)(desc->parameter[i] - desc->rate * way);
    }
}

// The operators of training that work on single elements: dropout, and the backward passes of activations, gates,
// embeddings, pooling and additive attention's scores.
#include <math.h>
#include <string.h>

#include "base/philox.h"
#include "reference/reference.h"

static double logistic(double x)
{
    return 1 / (1 + exp(-x));
}

double vkf__ref_activation_slope(vkf_activation activation, double x)
{
    const double sqrt_half = 0.70710678118654752440, sqrt_2_over_pi = 0.79788456080286535588;
    const double inner = sqrt_2_over_pi * (x + 0.044715 * x * x * x);
    switch (activation) {
    case VKF_ACTIVATION_RELU:
        return isnan(x) ? x : x > 0;
    case VKF_ACTIVATION_GELU_ERF:
        return 0.5 * (1 + erf(x * sqrt_half)) + x * 0.5 * sqrt_2_over_pi * exp(-0.5 * x * x);
    case VKF_ACTIVATION_GELU_TANH:
        return 0.5 * (1 + tanh(inner)) +
               0.5 * x * sqrt_2_over_pi * (1 + 3 * 0.044715 * x * x) / (cosh(inner) * cosh(inner));
    case VKF_ACTIVATION_SILU:
        return logistic(x) * (1 + x * logistic(-x));
    case VKF_ACTIVATION_TANH:
        return 1 / (cosh(x) * cosh(x));
    default:
        return 1;
    }
}

void vkf__ref_gate_grad(uint32_t rows, uint32_t dim, vkf_activation activation, const float *x, const float *dout,
                        float *dx)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < dim; i++) {
            const size_t a = 2 * row * dim + i, b = a + dim;
            const double incoming = dout[row * dim + i], activated = x[a], factor = x[b];
            dx[a] = (float)(incoming * factor * vkf__ref_activation_slope(activation, activated));
            dx[b] = (float)(incoming * vkf__ref_activation(activation, activated));
        }
}

void vkf__ref_dropout(const vkf__ref_dropout_desc *desc)
{
    const double threshold = floor(desc->p * 4294967296.0 + 0.5);
    const uint32_t key[2] = {(uint32_t)desc->seed, (uint32_t)(desc->seed >> 32)};
    for (size_t i = 0; i < desc->count; i++) {
        const uint32_t counter[4] = {(uint32_t)(i / 4), 0, desc->stream, desc->step};
        uint32_t words[4];
        vkf__philox(counter, key, words);
        const double value = words[i % 4] >= threshold ? desc->x[i] / (1 - desc->p) : 0;
        desc->out[i] = (float)(value + (desc->residual ? (double)desc->residual[i] : 0));
    }
}

void vkf__ref_embed_grad(uint32_t tokens, uint32_t dim, uint32_t vocab, const int32_t *ids, const float *dout,
                         float scale, double *sums, float *dtable)
{
    memset(sums, 0, (size_t)vocab * dim * sizeof *sums);
    for (size_t token = 0; token < tokens; token++)
        for (size_t i = 0; i < dim && (uint32_t)ids[token] < vocab; i++)
            sums[(size_t)ids[token] * dim + i] += dout[token * dim + i];
    for (size_t i = 0; i < (size_t)vocab * dim; i++)
        dtable[i] = (float)(dtable[i] + scale * sums[i]);
}

// What a position of a sequence counts for in one of its columns.
static double share(const vkf__ref_pool_desc *desc, const float *column, uint32_t length, uint32_t position)
{
    const double first = desc->first, weights = 0.5 * (length * (length + 1.0) - first * (first + 1.0));
    uint32_t best = desc->first;
    if (desc->pooling == VKF_POOLING_FIRST)
        return position < length && position == (desc->first < length ? desc->first : 0);
    if (position >= length || position < desc->first)
        return 0;
    switch (desc->pooling) {
    case VKF_POOLING_MEAN:
        return 1 / (length - first);
    case VKF_POOLING_WEIGHTED_MEAN:
        return (position + 1) / weights;
    case VKF_POOLING_MEAN_SQRT:
        return 1 / sqrt(length - first);
    case VKF_POOLING_LAST:
        return position + 1 == length;
    default:
        for (uint32_t i = desc->first; i < length; i++) {
            const float largest = column[(size_t)best * desc->dim], value = column[(size_t)i * desc->dim];
            if (!isnan(largest) && (isnan(value) || value > largest))
                best = i;
        }
        return position == best;
    }
}

// The gradient of what was pooled, before it was normalised.
static void pooled_grad(const vkf__ref_pool_desc *desc, const float *pooled, const float *dout, double *out)
{
    double squares = 0, along = 0, norm = 1;
    for (size_t i = 0; i < desc->dim && desc->normalise; i++) {
        squares += (double)pooled[i] * pooled[i];
        along += (double)pooled[i] * dout[i];
    }
    if (desc->normalise)
        norm = fmax(sqrt(squares), 1e-12);
    along = norm > 1e-12 ? along / (norm * norm) : 0;
    for (size_t i = 0; i < desc->dim; i++)
        out[i] = desc->normalise ? (dout[i] - along * pooled[i]) / norm : dout[i];
}

void vkf__ref_pool_grad(const vkf__ref_pool_desc *desc, const float *dout, double *grads, float *dx)
{
    vkf__ref_pool_desc plain = *desc;
    plain.normalise = false;
    vkf__ref_pool(&plain);
    for (size_t b = 0; b < desc->batch; b++) {
        const int32_t length = desc->lengths[b] < 0 ? 0 : desc->lengths[b];
        const uint32_t count = (uint32_t)length < desc->len ? (uint32_t)length : desc->len;
        pooled_grad(desc, desc->out + b * desc->dim, dout + b * desc->dim, grads);
        for (size_t t = 0; t < desc->len; t++)
            for (size_t i = 0; i < desc->dim; i++) {
                const size_t first = b * desc->len * desc->dim + i;
                const double factor = share(desc, desc->x + first, count, (uint32_t)t);
                dx[first + t * desc->dim] = factor != 0 ? (float)(factor * grads[i]) : 0;
            }
    }
}

// tanh() of a query and a key in one column, and the gradient of their score.
static double activated_sum(const vkf__ref_additive_grad_desc *desc, size_t b, size_t t, size_t s, size_t a,
                            double *out_grad)
{
    *out_grad = desc->dscores[(b * desc->q_len + t) * desc->k_len + s];
    return tanh((double)desc->query[(b * desc->q_len + t) * desc->dim + a] +
                desc->key[(b * desc->k_len + s) * desc->dim + a]);
}

static void additive_grad_of_queries(const vkf__ref_additive_grad_desc *desc, size_t a, double *inout_dv)
{
    for (size_t b = 0; b < desc->batch; b++)
        for (size_t t = 0; t < desc->q_len; t++) {
            double sum = 0, grad = 0;
            for (size_t s = 0; s < desc->k_len; s++) {
                const double value = activated_sum(desc, b, t, s, a, &grad);
                sum += grad != 0 ? grad * (1 - value * value) : 0;
                *inout_dv += grad != 0 ? grad * value : 0;
            }
            desc->dquery[(b * desc->q_len + t) * desc->dim + a] = (float)(desc->v[a] * sum);
        }
}

static void additive_grad_of_keys(const vkf__ref_additive_grad_desc *desc, size_t a)
{
    for (size_t b = 0; b < desc->batch; b++)
        for (size_t s = 0; s < desc->k_len; s++) {
            double sum = 0, grad = 0;
            for (size_t t = 0; t < desc->q_len; t++) {
                const double value = activated_sum(desc, b, t, s, a, &grad);
                sum += grad != 0 ? grad * (1 - value * value) : 0;
            }
            desc->dkey[(b * desc->k_len + s) * desc->dim + a] = (float)(desc->v[a] * sum);
        }
}

void vkf__ref_additive_grad(const vkf__ref_additive_grad_desc *desc)
{
    for (size_t a = 0; a < desc->dim; a++) {
        double sum = 0;
        additive_grad_of_queries(desc, a, &sum);
        additive_grad_of_keys(desc, a);
        desc->dv[a] = (float)sum;
    }
}

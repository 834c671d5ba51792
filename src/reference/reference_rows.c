// The operators that work on rows or on single elements: norms, embedding, pooling, rotary embedding and others.
#include "reference/reference.h"

#include <math.h>

static void layer_norm_row(const vkf__ref_layer_norm_desc *desc, size_t first)
{
    bool before = desc->residual_order == VKF_RESIDUAL_BEFORE;
    double mean = 0;
    for (uint32_t i = 0; i < desc->dim && !desc->rms; i++)
        mean += (double)desc->x[first + i] + (before ? (double)desc->residual[first + i] : 0);
    mean /= desc->dim;
    double variance = 0;
    for (uint32_t i = 0; i < desc->dim; i++) {
        double value = (double)desc->x[first + i] + (before ? (double)desc->residual[first + i] : 0);
        variance += (value - mean) * (value - mean);
    }
    variance /= desc->dim;
    for (uint32_t i = 0; i < desc->dim; i++) {
        double value = (double)desc->x[first + i] + (before ? (double)desc->residual[first + i] : 0);
        value = (value - mean) / sqrt(variance + (double)desc->eps);
        if (desc->weight)
            value *= desc->weight[i];
        if (desc->bias)
            value += desc->bias[i];
        if (desc->residual_order == VKF_RESIDUAL_AFTER)
            value += desc->residual[first + i];
        desc->out[first + i] = (float)value;
    }
}

void vkf__ref_layer_norm(const vkf__ref_layer_norm_desc *desc)
{
    for (size_t row = 0; row < desc->rows; row++)
        layer_norm_row(desc, row * desc->dim);
}

void vkf__ref_permute(uint32_t outer, uint32_t rows, uint32_t cols, uint32_t depth, const float *x, float *out)
{
    for (size_t o = 0; o < outer; o++)
        for (size_t r = 0; r < rows; r++)
            for (size_t c = 0; c < cols; c++)
                for (size_t d = 0; d < depth; d++)
                    out[((o * cols + c) * rows + r) * depth + d] = x[((o * rows + r) * cols + c) * depth + d];
}

void vkf__ref_embed(const vkf__ref_embed_desc *desc)
{
    for (size_t token = 0; token < (size_t)desc->batch * desc->len; token++) {
        int32_t id = desc->ids[token];
        bool known = id >= 0 && (uint32_t)id < desc->vocab;
        size_t position = desc->first_position + token % desc->len;
        for (size_t i = 0; i < desc->dim; i++) {
            double value = known ? (double)desc->table[(size_t)id * desc->dim + i] * desc->scale : 0;
            if (desc->positions)
                value += desc->positions[position * desc->dim + i];
            desc->out[token * desc->dim + i] = (float)value;
        }
    }
}

void vkf__ref_additive_scores(uint32_t batch, uint32_t q_len, uint32_t k_len, uint32_t dim, const float *query,
                              const float *key, const float *v, float *out)
{
    for (size_t b = 0; b < batch; b++)
        for (size_t t = 0; t < q_len; t++)
            for (size_t s = 0; s < k_len; s++) {
                const float *query_row = query + (b * q_len + t) * dim;
                const float *key_row = key + (b * k_len + s) * dim;
                double sum = 0;
                for (uint32_t a = 0; a < dim; a++)
                    sum += v[a] * tanh((double)query_row[a] + key_row[a]);
                out[(b * q_len + t) * k_len + s] = (float)sum;
            }
}

void vkf__ref_argmax(uint32_t rows, uint32_t cols, const float *x, int32_t *out)
{
    for (size_t row = 0; row < rows; row++) {
        const float *values = x + row * cols;
        uint32_t best = 0;
        for (uint32_t i = 1; i < cols && !isnan(values[best]); i++)
            if (isnan(values[i]) || values[i] > values[best])
                best = i;
        out[row] = (int32_t)best;
    }
}

static double pooled(const vkf__ref_pool_desc *desc, const float *column, uint32_t length)
{
    bool largest = desc->pooling == VKF_POOLING_MAX, weighted = desc->pooling == VKF_POOLING_WEIGHTED_MEAN;
    double total = largest ? -INFINITY : 0, weights = 0;
    uint32_t first = desc->first < length ? desc->first : 0;
    if (length == 0 || (desc->first >= length && desc->pooling != VKF_POOLING_FIRST))
        return 0;
    for (size_t i = first; i < length; i++) {
        double weight = weighted ? (double)i + 1 : 1, value = weight * column[i * desc->dim];
        total = largest ? fmax(total, value) : total + value;
        weights += weight;
    }
    switch (desc->pooling) {
    case VKF_POOLING_MEAN:
    case VKF_POOLING_WEIGHTED_MEAN:
        return total / weights;
    case VKF_POOLING_MEAN_SQRT:
        return total / sqrt(weights);
    case VKF_POOLING_FIRST:
        return column[(size_t)first * desc->dim];
    case VKF_POOLING_LAST:
        return column[(size_t)(length - 1) * desc->dim];
    default:
        return total;
    }
}

void vkf__ref_pool(const vkf__ref_pool_desc *desc)
{
    for (size_t b = 0; b < desc->batch; b++) {
        int32_t length = desc->lengths[b] < 0 ? 0 : desc->lengths[b];
        uint32_t count = (uint32_t)length < desc->len ? (uint32_t)length : desc->len;
        float *out = desc->out + b * desc->dim;
        double squares = 0;
        for (size_t i = 0; i < desc->dim; i++) {
            double value = pooled(desc, desc->x + b * desc->len * desc->dim + i, count);
            squares += value * value;
            out[i] = (float)value;
        }
        for (size_t i = 0; i < desc->dim && desc->normalise; i++)
            out[i] = (float)(out[i] / fmax(sqrt(squares), 1e-12));
    }
}

static void rotate_head(const vkf__ref_rotary_desc *desc, const float *x, const float *angles, float *out)
{
    double scale = 1, squares = 0;
    uint32_t half = angles ? desc->rotary_dim / 2 : 0;
    for (uint32_t i = 0; i < desc->head_dim && desc->weight; i++)
        squares += (double)x[i] * x[i];
    if (desc->weight)
        scale = 1 / sqrt(squares / desc->head_dim + (double)desc->eps);
#define VALUE(i) ((double)x[i] * scale * (desc->weight ? (double)desc->weight[i] : 1))
    for (uint32_t i = 0; i < half; i++) {
        double low = VALUE(i), high = VALUE(i + half), cosine = angles[i];
        double sine = desc->inverse ? -angles[half + i] : angles[half + i];
        out[i] = (float)(low * cosine - high * sine);
        out[i + half] = (float)(high * cosine + low * sine);
    }
    for (uint32_t i = 2 * half; i < desc->head_dim; i++)
        out[i] = (float)VALUE(i);
#undef VALUE
}

void vkf__ref_rotary(const vkf__ref_rotary_desc *desc)
{
    for (size_t b = 0; b < desc->batch; b++)
        for (size_t t = 0; t < desc->len; t++)
            for (size_t h = 0; h < desc->heads; h++) {
                size_t position = desc->first_position + t;
                size_t head = h * desc->head_dim;
                rotate_head(desc, desc->x + desc->x_first + b * desc->x_batch + t * desc->x_row + head,
                            desc->table ? desc->table + position * desc->rotary_dim : NULL,
                            desc->out + desc->out_first + b * desc->out_batch + t * desc->out_row + head);
            }
}

void vkf__ref_gate(uint32_t rows, uint32_t dim, vkf_activation activation, const float *x, float *out)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < dim; i++)
            out[row * dim + i] =
                (float)(vkf__ref_activation(activation, x[2 * row * dim + i]) * x[(2 * row + 1) * dim + i]);
}

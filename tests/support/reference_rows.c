// The operators that work on rows or on single elements: norms, embedding, pooling, rotary embedding and others.
#include "op/activation_value.h"
#include "support/reference.h"

#include <math.h>

static void layer_norm_row(const vkf_ref_layer_norm_desc *desc, size_t first)
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

void vkf_ref_layer_norm(const vkf_ref_layer_norm_desc *desc)
{
    for (size_t row = 0; row < desc->rows; row++)
        layer_norm_row(desc, row * desc->dim);
}

void vkf_ref_embed(const vkf_ref_embed_desc *desc)
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

static void rotate_head(const vkf_ref_rotary_desc *desc, const float *x, const float *angles, float *out)
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

void vkf_ref_rotary(const vkf_ref_rotary_desc *desc)
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

void vkf_ref_gate(uint32_t rows, uint32_t dim, vkf_activation activation, const float *x, float *out)
{
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < dim; i++)
            out[row * dim + i] =
                (float)(vkf__activation_value(activation, x[2 * row * dim + i]) * x[(2 * row + 1) * dim + i]);
}

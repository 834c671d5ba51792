// The operators that work on rows: norms and embedding.
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

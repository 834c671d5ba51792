// Masked softmax, row by row.
#include "support/reference.h"

#include <math.h>

static bool bool_visible(vkf_mask_kind kind, const void *mask, size_t at)
{
    const uint8_t *values = mask;
    if (kind == VKF_MASK_BOOL_EXCLUDE)
        return values[at] == 0;
    if (kind == VKF_MASK_BOOL_ATTEND)
        return values[at] != 0;
    return true;
}

static float additive_value(vkf_mask_kind kind, const void *mask, size_t at)
{
    const float *values = mask;
    return kind == VKF_MASK_ADDITIVE ? values[at] : 0;
}

void vkf_ref_place_queries(vkf_ref_softmax_desc *desc, vkf_causal causal)
{
    desc->causal = causal != VKF_CAUSAL_NONE;
    desc->behind_lengths = causal == VKF_CAUSAL_LENGTHS;
    desc->causal_offset = causal == VKF_CAUSAL_BOTTOM_RIGHT ? (int32_t)desc->mask_cols - (int32_t)desc->q_len
                          : desc->behind_lengths            ? -(int32_t)desc->q_len
                                                            : 0;
}

static int64_t position_of(const vkf_ref_softmax_desc *desc, uint32_t b, uint32_t l)
{
    return (int64_t)l + desc->causal_offset + (desc->behind_lengths ? ((const int32_t *)desc->key_mask)[b] : 0);
}

static bool position_visible(const vkf_ref_softmax_desc *desc, int64_t position, uint32_t s)
{
    if (desc->causal && (int64_t)s > position + desc->right)
        return false;
    return desc->window == 0 || (int64_t)s + desc->window > position;
}

// What the mask, or with slopes alone the distance from the query's own position, adds to a score.
static float added_by_query(const vkf_ref_softmax_desc *desc, uint32_t h, int64_t position, uint32_t s, size_t mask_at)
{
    const float own = additive_value(desc->mask_kind, desc->mask, mask_at);
    if (!desc->slopes || own == -INFINITY)
        return own;
    const float distance = fabsf((float)(s - position));
    return desc->slopes[h] * (desc->mask_kind == VKF_MASK_ADDITIVE ? own : -distance);
}

// The scaled, capped and masked score of key `s` for a query; -infinity where it is masked.
static double masked_score(const vkf_ref_softmax_desc *desc, uint32_t b, uint32_t h, uint32_t l, uint32_t s, double x)
{
    double score = (double)desc->scale * x;
    if (desc->soft_cap != 0)
        score = desc->soft_cap * tanh(score / desc->soft_cap);
    if (s < desc->mask_cols) {
        size_t mask_at = b * desc->mask_batch + h * desc->mask_head + l * desc->mask_row + s;
        size_t key_at = (size_t)b * desc->mask_cols + s;
        int64_t position = position_of(desc, b, l);
        bool visible = bool_visible(desc->mask_kind, desc->mask, mask_at) &&
                       bool_visible(desc->key_mask_kind, desc->key_mask, key_at) && position_visible(desc, position, s);
        if (desc->key_mask_kind == VKF_MASK_LENGTHS)
            visible = visible && (int64_t)s < ((const int32_t *)desc->key_mask)[b];
        if (!visible)
            return -INFINITY;
        if (desc->mask_kind == VKF_MASK_ADDITIVE || desc->key_mask_kind == VKF_MASK_ADDITIVE || desc->slopes)
            score = (float)score + (added_by_query(desc, h, position, s, mask_at) +
                                    additive_value(desc->key_mask_kind, desc->key_mask, key_at));
    }
    return isinf((float)score) ? (float)score : score;
}

static double fully_masked_value(const vkf_ref_softmax_desc *desc)
{
    if (desc->fully_masked == VKF_FULLY_MASKED_NAN)
        return NAN;
    return desc->fully_masked == VKF_FULLY_MASKED_UNIFORM ? 1.0 / desc->k_len : 0;
}

static void softmax_row(const vkf_ref_softmax_desc *desc, uint32_t b, uint32_t h, uint32_t l, const float *x,
                        float *out)
{
    const double sink = desc->sinks ? desc->sinks[h] : -INFINITY;
    double maximum = fmax(sink, -INFINITY); // fmax passes over NaN
    for (uint32_t s = 0; s < desc->k_len; s++)
        maximum = fmax(maximum, masked_score(desc, b, h, l, s, x[s]));
    double sum = sink == -INFINITY ? 0 : exp(sink - maximum);
    for (uint32_t s = 0; s < desc->k_len; s++) {
        double score = masked_score(desc, b, h, l, s, x[s]);
        if (score != -INFINITY)
            sum += exp(score - maximum);
    }
    for (uint32_t s = 0; s < desc->k_len; s++) {
        double score = masked_score(desc, b, h, l, s, x[s]);
        double weight = score == -INFINITY ? 0 : exp(score - maximum);
        if (isnan(sum))
            out[s] = NAN;
        else if (sum > 0)
            out[s] = (float)(desc->logarithm ? score - maximum - log(sum) : weight / sum);
        else
            out[s] = (float)(desc->logarithm ? log(fully_masked_value(desc)) : fully_masked_value(desc));
    }
}

void vkf_ref_softmax(const vkf_ref_softmax_desc *desc)
{
    size_t row = 0;
    for (uint32_t b = 0; b < desc->batch; b++)
        for (uint32_t h = 0; h < desc->heads; h++)
            for (uint32_t l = 0; l < desc->q_len; l++, row++)
                softmax_row(desc, b, h, l, desc->x + row * desc->k_len, desc->out + row * desc->k_len);
}

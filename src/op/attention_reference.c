// The scalar references of attention and of what puts its parts together; shared/attention.h says what is computed.
#include <math.h>

#include "op/attention_cases.h"
#include "op/masked_score.h"
#include "shared/attention.h"

// A row of scores on its way to the output.
typedef struct row {
    uint64_t b, h, l;
    double sink;    // a score that has no key; -infinity: none
    double *query;  // (head_dim)
    double *scores; // (k_len)
    double *sums;   // (v_head_dim)
} row;

// What some keys have left: the sums of values in row.sums, relative to the maximum.
typedef struct part {
    double maximum, total;
} part;

// The key head that a query head reads.
static uint64_t key_head(const vkf__execution *e, uint64_t head)
{
    const struct vkf_attention_params *p = e->params;
    const uint64_t group = p->heads / p->kv_heads;
    return group > 0 ? head / group : head;
}

static uint32_t fresh_keys(const vkf__execution *e)
{
    const struct vkf_attention_params *p = e->params;
    return (e->kernel->offers & VKF_FORM_FRESH) && e->spec[VKF_ATTENTION_DECODE_SPEC_FRESH] > 0 ? p->q_len : 0;
}

// Reads a head of queries or of fresh keys, rotated where there are fresh keys.
static void load_head(const vkf__execution *e, uint64_t first, uint64_t position, double *out)
{
    const struct vkf_attention_params *p = e->params;
    const uint32_t half = fresh_keys(e) > 0 ? p->rotary_dim / 2 : 0;
    const uint64_t angles = (p->first_position + position) * p->rotary_dim;
    for (uint32_t i = 0; i < e->spec[VKF_ATTENTION_SPEC_HEAD_DIM]; i++)
        out[i] = vkf__load(e, VKF_ATTENTION_BINDING_Q, first + i);
    for (uint32_t i = 0; i < half; i++) {
        const double low = out[i], high = out[half + i];
        const double cosine = vkf__load(e, VKF_ATTENTION_BINDING_TABLE, angles + i);
        const double sine = vkf__load(e, VKF_ATTENTION_BINDING_TABLE, angles + half + i);
        out[i] = low * cosine - high * sine;
        out[half + i] = high * cosine + low * sine;
    }
}

// Brings a fresh key and its value to their places.
static void store_fresh(const vkf__execution *e, uint64_t b, uint64_t i, uint64_t head, double *scratch)
{
    const struct vkf_attention_params *p = e->params;
    const uint32_t width = e->spec[VKF_ATTENTION_SPEC_HEAD_DIM], v_width = e->spec[VKF_ATTENTION_SPEC_V_HEAD_DIM];
    const uint64_t from = b * p->q_batch + i * p->q_row, place = p->fresh_first + i;
    load_head(e, from + p->k_fresh + head * width, i, scratch);
    for (uint32_t d = 0; d < width; d++)
        vkf__store(e, VKF_ATTENTION_BINDING_K, b * p->k_batch + place * p->k_row + head * p->k_head + d, scratch[d]);
    for (uint32_t d = 0; d < v_width; d++)
        vkf__store(e, VKF_ATTENTION_BINDING_V, b * p->v_batch + place * p->v_row + head * p->v_head + d,
                   vkf__load(e, VKF_ATTENTION_BINDING_Q, from + p->v_fresh + head * v_width + d));
}

static void find_scores(const vkf__execution *e, row *r)
{
    const struct vkf_attention_params *p = e->params;
    const vkf__score_masks masks = VKF_SCORE_MASKS(ATTENTION, e, p);
    const uint64_t head = key_head(e, r->h);
    r->sink = vkf__sink(e, &masks, r->h);
    load_head(e, r->b * p->q_batch + r->l * p->q_row + r->h * p->q_head, r->l, r->query);
    for (uint64_t s = 0; s < p->k_len; s++) {
        const uint64_t first = r->b * p->k_batch + s * p->k_row + head * p->k_head;
        double dot = 0;
        for (uint32_t d = 0; d < e->spec[VKF_ATTENTION_SPEC_HEAD_DIM]; d++)
            dot += r->query[d] * vkf__load(e, VKF_ATTENTION_BINDING_K, first + d);
        r->scores[s] = vkf__masked_score(e, &masks, r->b, r->h, r->l, s, dot);
    }
}

// Sums over keys [begin, end) and a sink. Where no key is seen, every value counts once.
static part sum_part(const vkf__execution *e, const row *r, uint64_t begin, uint64_t end, double sink)
{
    const struct vkf_attention_params *p = e->params;
    const uint32_t width = e->spec[VKF_ATTENTION_SPEC_V_HEAD_DIM];
    const uint64_t head = key_head(e, r->h);
    part sums = {sink, 0};
    for (uint64_t s = begin; s < end; s++)
        sums.maximum = fmax(sums.maximum, r->scores[s]); // passes over NaN
    sums.total = sink == -INFINITY ? 0 : exp(sink - sums.maximum);
    for (uint64_t s = begin; s < end; s++)
        sums.total += r->scores[s] == -INFINITY ? 0 : exp(r->scores[s] - sums.maximum);
    for (uint32_t d = 0; d < width; d++)
        r->sums[d] = 0;
    for (uint64_t s = begin; s < end; s++) {
        const uint64_t first = r->b * p->v_batch + s * p->v_row + head * p->v_head;
        const bool hidden = r->scores[s] == -INFINITY;
        const double weight = sums.total == 0 ? 1 : hidden ? 0 : exp(r->scores[s] - sums.maximum);
        for (uint32_t d = 0; d < width && (weight != 0 || !hidden); d++)
            r->sums[d] += weight * vkf__load(e, VKF_ATTENTION_BINDING_V, first + d);
    }
    return sums;
}

static double output_of(double sum, double total, uint32_t rule, uint32_t k_len)
{
    if (total != 0)
        return sum / total;
    return rule == VKF_SHADER_FULLY_MASKED_ZERO ? 0 : sum * vkf__fully_masked_weight(rule, k_len);
}

// Writes the parts of a row, or all of it. The keys are divided evenly, as it is up to every kernel.
static void put_row(const vkf__execution *e, const row *r)
{
    const struct vkf_attention_params *p = e->params;
    const uint32_t width = e->spec[VKF_ATTENTION_SPEC_V_HEAD_DIM];
    const bool in_parts = e->spec[VKF_ATTENTION_SPEC_PARTIAL] && !(e->kernel->offers & VKF_FORM_JOINED);
    const uint64_t splits = in_parts ? p->splits : 1, each = (p->k_len + splits - 1) / splits;
    const uint64_t of_row = ((r->b * p->heads + r->h) * p->q_len + r->l) * splits * (width + 2);
    const uint64_t out = in_parts ? of_row : r->b * p->out_batch + r->l * p->out_row + r->h * p->out_head;
    for (uint64_t i = 0; i < splits; i++) {
        const uint64_t begin = i * each < p->k_len ? i * each : p->k_len;
        const uint64_t end = begin + each < p->k_len ? begin + each : p->k_len;
        const part sums = sum_part(e, r, begin, end, i == 0 ? r->sink : -INFINITY);
        const uint64_t first = out + i * (width + 2);
        for (uint32_t d = 0; d < width; d++)
            vkf__store(e, VKF_ATTENTION_BINDING_OUT, first + d,
                       in_parts
                           ? r->sums[d]
                           : output_of(r->sums[d], sums.total, e->spec[VKF_ATTENTION_SPEC_FULLY_MASKED], p->k_len));
        if (!in_parts)
            continue;
        vkf__store(e, VKF_ATTENTION_BINDING_OUT, first + width, sums.maximum);
        vkf__store(e, VKF_ATTENTION_BINDING_OUT, first + width + 1, sums.total);
    }
}

vkf_status vkf__attention_reference(const vkf__execution *e)
{
    vkf_status status = VKF_OK;
    const struct vkf_attention_params *p = e->params;
    row r = {0};
    VKF_ALLOC(e->host, r.query, e->spec[VKF_ATTENTION_SPEC_HEAD_DIM]);
    VKF_ALLOC(e->host, r.scores, p->k_len);
    VKF_ALLOC(e->host, r.sums, e->spec[VKF_ATTENTION_SPEC_V_HEAD_DIM]);
    for (uint64_t i = 0; i < (uint64_t)p->batch * fresh_keys(e) * p->kv_heads; i++)
        store_fresh(e, i / p->kv_heads / p->q_len, i / p->kv_heads % p->q_len, i % p->kv_heads, r.query);
    for (uint64_t i = 0; i < (uint64_t)p->batch * p->heads * p->q_len; i++) {
        r.b = i / p->q_len / p->heads;
        r.h = i / p->q_len % p->heads;
        r.l = i % p->q_len;
        find_scores(e, &r);
        put_row(e, &r);
    }
fail:
    vkf__free(e->host, r.query);
    vkf__free(e->host, r.scores);
    vkf__free(e->host, r.sums);
    return status;
}

static double part_load(const vkf__execution *e, uint64_t row_index, uint64_t split, uint64_t at)
{
    const struct vkf_attention_reduce_params *p = e->params;
    return vkf__load(e, VKF_ATTENTION_REDUCE_BINDING_PARTIAL,
                     (row_index * p->splits + split) * (p->v_head_dim + (uint64_t)2) + at);
}

// Puts one column of a row together. A part that saw no key counts for nothing unless all parts saw none.
static double join_column(const vkf__execution *e, uint64_t row_index, uint64_t col)
{
    const struct vkf_attention_reduce_params *p = e->params;
    double maximum = -INFINITY, total = 0, sum = 0, plain = 0;
    for (uint64_t s = 0; s < p->splits; s++)
        maximum = fmax(maximum, part_load(e, row_index, s, p->v_head_dim));
    for (uint64_t s = 0; s < p->splits; s++) {
        const double value = part_load(e, row_index, s, col), own = part_load(e, row_index, s, p->v_head_dim + 1);
        const double factor = own == 0 ? 0 : exp(part_load(e, row_index, s, p->v_head_dim) - maximum);
        total += isnan(own) ? own : own == 0 ? 0 : own * factor;
        sum += own == 0 ? 0 : value * factor;
        plain += value;
    }
    return output_of(total == 0 ? plain : sum, total, e->spec[VKF_ATTENTION_REDUCE_SPEC_FULLY_MASKED], p->k_len);
}

vkf_status vkf__attention_reduce_reference(const vkf__execution *e)
{
    const struct vkf_attention_reduce_params *p = e->params;
    for (uint64_t i = 0; i < p->rows; i++) {
        const uint64_t l = i % p->q_len, h = i / p->q_len % p->heads, b = i / p->q_len / p->heads;
        const uint64_t out = b * p->out_batch + l * p->out_row + h * p->out_head;
        for (uint64_t col = 0; col < p->v_head_dim; col++)
            vkf__store(e, VKF_ATTENTION_REDUCE_BINDING_OUT, out + col, join_column(e, i, col));
    }
    return VKF_OK;
}

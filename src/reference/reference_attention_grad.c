// Gradients of attention, a query at a time, and the sum that they are the derivatives of.
#include "reference/reference.h"

#include <math.h>

#include "base/philox.h"

// One query of one head, and where the elements of its operands begin.
typedef struct query_row {
    uint32_t b, h, l;
    size_t q, out, k, v; // of the query and its output, and of the first key and value of its key head
} query_row;

static query_row view_row(const vkf__ref_sdpa_desc *f, uint32_t b, uint32_t h, uint32_t l)
{
    const size_t kv_head = h / (f->softmax.heads / f->kv_heads);
    return (query_row){
        .b = b,
        .h = h,
        .l = l,
        .q = b * f->q_layout.outer + h * f->q_layout.inner + l * f->q_layout.row,
        .out = b * f->out_layout.outer + h * f->out_layout.inner + l * f->out_layout.row,
        .k = b * f->k_layout.outer + kv_head * f->k_layout.inner,
        .v = b * f->v_layout.outer + kv_head * f->v_layout.inner,
    };
}

static double dot(const float *a, const float *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

bool vkf__ref_keeps_weight(const vkf__ref_weight_dropout *dropout, uint32_t row, uint32_t key)
{
    const uint32_t counter[4] = {key / 4, row, dropout->stream, dropout->step};
    const uint32_t seed[2] = {(uint32_t)dropout->seed, (uint32_t)(dropout->seed >> 32)};
    uint32_t words[4];
    if (dropout->p == 0 || dropout->p == 1)
        return dropout->p == 0;
    vkf__philox(counter, seed, words);
    return words[key % 4] >= (uint32_t)(dropout->p * 0x1p32 + 0.5);
}

// By what a weight is multiplied.
static double kept(const vkf__ref_sdpa_grad_desc *desc, const query_row *row, uint32_t s)
{
    const vkf__ref_softmax_desc *f = &desc->forward.softmax;
    const uint32_t number = (row->b * f->heads + row->h) * f->q_len + row->l;
    return vkf__ref_keeps_weight(&desc->dropout, number, s) ? 1 / (1 - desc->dropout.p) : 0;
}

// What softmax knows of a row: its highest score, and one over the sum of exp(score - maximum).
typedef struct stats {
    double maximum, factor;
} stats;

// Writes the row's weights, -1 for a key that is masked. False where all are masked.
static bool weigh_row(const vkf__ref_sdpa_desc *f, const query_row *row, double *weights, stats *out_stats)
{
    double maximum = -INFINITY, sum = 0;
    bool any = false;
    for (uint32_t s = 0; s < f->softmax.k_len; s++) {
        const double x = dot(f->query + row->q, f->key + row->k + s * f->k_layout.row, f->head_dim);
        weights[s] = vkf__ref_masked_score(&f->softmax, row->b, row->h, row->l, s, x);
        maximum = fmax(maximum, weights[s]); // fmax passes over NaN
    }
    for (uint32_t s = 0; s < f->softmax.k_len; s++) {
        const bool masked = weights[s] == -INFINITY;
        weights[s] = masked ? -1 : exp(weights[s] - maximum);
        sum += masked ? 0 : weights[s];
        any = any || !masked;
    }
    for (uint32_t s = 0; s < f->softmax.k_len; s++)
        weights[s] = weights[s] == -1 ? -1 : weights[s] / sum;
    *out_stats = (stats){maximum, 1 / sum};
    return any;
}

// Adds what the weight of key `s` and its score's gradient give.
static void add_pair(const vkf__ref_sdpa_grad_desc *desc, const query_row *row, uint32_t s, double weight,
                     double score_grad)
{
    const vkf__ref_sdpa_desc *f = &desc->forward;
    const size_t k = row->k + s * f->k_layout.row, v = row->v + s * f->v_layout.row;
    for (uint32_t i = 0; i < f->head_dim; i++) {
        desc->dq[row->q + i] += score_grad * f->key[k + i];
        desc->dk[k + i] += score_grad * f->query[row->q + i];
    }
    for (uint32_t i = 0; i < f->v_head_dim; i++)
        desc->dv[v + i] += weight * desc->dout[row->out + i];
}

static void add_row(const vkf__ref_sdpa_grad_desc *desc, const query_row *row)
{
    const vkf__ref_sdpa_desc *f = &desc->forward;
    const uint32_t k_len = f->softmax.k_len;
    double *weights = desc->scratch, *products = desc->scratch + k_len, delta = 0;
    stats own;
    if (!weigh_row(f, row, weights, &own))
        return;
    for (uint32_t s = 0; s < k_len; s++) {
        products[s] =
            kept(desc, row, s) * dot(desc->dout + row->out, f->value + row->v + s * f->v_layout.row, f->v_head_dim);
        delta += weights[s] == -1 ? 0 : weights[s] * products[s];
    }
    for (uint32_t s = 0; s < k_len; s++) {
        const double score_grad = weights[s] * (products[s] - delta);
        if (weights[s] == -1)
            continue;
        add_pair(desc, row, s, kept(desc, row, s) * weights[s], f->softmax.scale * score_grad);
        if (desc->dbias && s < f->softmax.mask_cols)
            desc->dbias[((size_t)row->h * f->softmax.q_len + row->l) * f->softmax.mask_cols + s] += score_grad;
    }
}

void vkf__ref_sdpa_grad(const vkf__ref_sdpa_grad_desc *desc)
{
    const vkf__ref_softmax_desc *softmax = &desc->forward.softmax;
    for (uint32_t b = 0; b < softmax->batch; b++)
        for (uint32_t h = 0; h < softmax->heads; h++)
            for (uint32_t l = 0; l < softmax->q_len; l++) {
                const query_row row = view_row(&desc->forward, b, h, l);
                add_row(desc, &row);
            }
}

static double row_product(const vkf__ref_sdpa_grad_desc *desc, const query_row *row)
{
    const vkf__ref_sdpa_desc *f = &desc->forward;
    double sum = 0;
    stats own;
    if (!weigh_row(f, row, desc->scratch, &own))
        return 0;
    for (uint32_t s = 0; s < f->softmax.k_len; s++) {
        if (desc->scratch[s] != -1)
            sum += kept(desc, row, s) * desc->scratch[s] *
                   dot(desc->dout + row->out, f->value + row->v + s * f->v_layout.row, f->v_head_dim);
    }
    return sum;
}

double vkf__ref_sdpa_product(const vkf__ref_sdpa_grad_desc *desc)
{
    const vkf__ref_softmax_desc *softmax = &desc->forward.softmax;
    double sum = 0;
    for (uint32_t b = 0; b < softmax->batch; b++)
        for (uint32_t h = 0; h < softmax->heads; h++)
            for (uint32_t l = 0; l < softmax->q_len; l++) {
                const query_row row = view_row(&desc->forward, b, h, l);
                sum += row_product(desc, &row);
            }
    return sum;
}

static void attend_row(const vkf__ref_sdpa_grad_desc *desc, const query_row *row, float *maximum, float *factor)
{
    const vkf__ref_sdpa_desc *f = &desc->forward;
    const uint32_t k_len = f->softmax.k_len;
    double *weights = desc->scratch;
    stats own;
    const bool any = weigh_row(f, row, weights, &own);
    *maximum = any ? (float)own.maximum : *maximum;
    *factor = any ? (float)own.factor : *factor;
    for (uint32_t s = 0; s < k_len; s++) {
        const double masked = f->softmax.fully_masked == VKF_FULLY_MASKED_UNIFORM ? 1.0 / k_len
                              : f->softmax.fully_masked == VKF_FULLY_MASKED_NAN   ? NAN
                                                                                  : 0;
        weights[s] = !any ? masked : weights[s] == -1 ? 0 : kept(desc, row, s) * weights[s];
    }
    for (uint32_t i = 0; i < f->v_head_dim; i++) {
        double out = 0;
        for (uint32_t s = 0; s < k_len; s++)
            out += weights[s] == 0 ? 0 : weights[s] * f->value[row->v + s * f->v_layout.row + i];
        f->out[row->out + i] = (float)out;
    }
}

void vkf__ref_sdpa_train(const vkf__ref_sdpa_grad_desc *desc, float *row_stats)
{
    const vkf__ref_softmax_desc *softmax = &desc->forward.softmax;
    const uint32_t group = softmax->heads / desc->forward.kv_heads;
    float *factors = row_stats + (size_t)softmax->batch * softmax->heads * softmax->q_len;
    for (uint32_t b = 0; b < softmax->batch; b++)
        for (uint32_t h = 0; h < softmax->heads; h++)
            for (uint32_t l = 0; l < softmax->q_len; l++) {
                const query_row row = view_row(&desc->forward, b, h, l);
                const size_t kv = (size_t)b * desc->forward.kv_heads + h / group;
                const size_t at = (kv * softmax->q_len + l) * group + h % group;
                attend_row(desc, &row, &row_stats[at], &factors[at]);
            }
}

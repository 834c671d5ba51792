// The scalar references of attention for training, of its gradients and of the packing ahead of both;
// shared/attention_grad.h says what is computed. As in the kernels, a pass has rows of its own, of queries or of keys,
// and sums over the others.
#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/philox.h"
#include "op/masked_score.h"
#include "op/train/attention_grad_cases.h"

#define MOST_WIDTH 260

// A key head that is packed, and the query heads that share it.
typedef struct head {
    uint64_t b, kv_head;
    uint64_t queries, keys; // its first rows among those that are packed
    uint64_t stats;         // of its first query, among those of all key heads
    uint64_t query_count;
    uint32_t group;
    vkf__score_masks masks;
} head;

static head view_head(const vkf__execution *e, uint64_t packed)
{
    const struct vkf_attention_grad_params *p = e->params;
    const uint64_t number = p->first_key_head + packed, group = p->heads / p->kv_heads, queries = p->q_len * group;
    return (head){
        .b = number / p->kv_heads,
        .kv_head = number % p->kv_heads,
        .queries = packed * queries,
        .keys = p->keys_first + packed * p->k_len,
        .stats = number * queries,
        .query_count = queries,
        .group = (uint32_t)group,
        .masks = VKF_SCORE_MASKS(ATTENTION_GRAD, e, p),
    };
}

static uint64_t filled(uint32_t width)
{
    return (width + (uint64_t)3) / 4 * 4;
}

// An element of a packed row: of its first half, the query or the key, or of the second, the gradient or the value.
static double load_packed(const vkf__execution *e, uint64_t row, bool second, uint64_t i)
{
    const uint64_t first_width = filled(e->spec[VKF_ATTENTION_GRAD_SPEC_HEAD_DIM]);
    const uint64_t width = first_width + filled(e->spec[VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM]);
    return vkf__load(e, VKF_ATTENTION_GRAD_BINDING_ROWS, row * width + (second ? first_width : 0) + i);
}

static double multiply(const vkf__execution *e, const head *h, uint64_t r, uint64_t s, bool second)
{
    const uint32_t width = e->spec[second ? VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM : VKF_ATTENTION_GRAD_SPEC_HEAD_DIM];
    double sum = 0;
    for (uint32_t i = 0; i < width; i++)
        sum += load_packed(e, h->queries + r, second, i) * load_packed(e, h->keys + s, second, i);
    return sum;
}

static uint64_t query_head(const head *h, uint64_t r)
{
    return h->kv_head * h->group + r % h->group;
}

static double score_of(const vkf__execution *e, const head *h, uint64_t r, uint64_t s)
{
    return vkf__masked_score(e, &h->masks, h->b, query_head(h, r), r / h->group, s, multiply(e, h, r, s, false));
}

// By what dropout multiplies a weight.
static double kept(const vkf__execution *e, const head *h, uint64_t r, uint64_t s)
{
    const struct vkf_attention_grad_params *p = e->params;
    const uint64_t row = (h->b * p->heads + query_head(h, r)) * p->q_len + r / h->group;
    const uint32_t counter[4] = {(uint32_t)(s / 4), (uint32_t)row, p->stream, p->step};
    const uint32_t seed[2] = {p->seed_low, p->seed_high};
    uint32_t words[4];
    if (!e->spec[VKF_ATTENTION_GRAD_SPEC_DROPOUT])
        return 1;
    vkf__philox(counter, seed, words);
    return words[s % 4] >= p->threshold ? (double)p->keep_scale : 0;
}

// The first of `count` rows or batch entries that a slice takes.
static uint64_t slice_begin(const vkf__execution *e, uint64_t count, uint32_t slice)
{
    const struct vkf_attention_grad_params *p = e->params;
    const uint64_t begin = (count + p->slices - 1) / p->slices * slice;
    return begin < count ? begin : count;
}

// What is known of a query's row: the highest score, and sums of exp(score - maximum), times values in `out`.
typedef struct row_sums {
    double maximum, total;
    double out[MOST_WIDTH];
} row_sums;

// As the dispatches before this one have left them; the first begins with the sink.
static void start_row(const vkf__execution *e, uint64_t stat, uint64_t out, double sink, row_sums *sums)
{
    const struct vkf_attention_grad_params *p = e->params;
    const uint32_t width = e->spec[VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM];
    const double before = vkf__load(e, VKF_ATTENTION_GRAD_BINDING_ROWS, p->maxima_first + stat);
    const double factor = vkf__load(e, VKF_ATTENTION_GRAD_BINDING_ROWS, p->factors_first + stat);
    assert(width <= MOST_WIDTH && e->spec[VKF_ATTENTION_GRAD_SPEC_HEAD_DIM] <= MOST_WIDTH);
    *sums = (row_sums){.maximum = sink > -FLT_MAX ? sink : -FLT_MAX};
    sums->total = sink == -INFINITY ? 0 : exp(sink - sums->maximum);
    if (p->slice == 0)
        return;
    sums->maximum = isnan(before) ? -FLT_MAX : before;
    sums->total = isnan(before) ? NAN : factor > 0 ? 1 / factor : 0;
    for (uint32_t i = 0; i < width; i++)
        sums->out[i] = sums->total * vkf__load(e, VKF_ATTENTION_GRAD_BINDING_OUT, out + i);
}

static void add_key(const vkf__execution *e, const head *h, uint64_t r, uint64_t s, row_sums *sums)
{
    const uint32_t width = e->spec[VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM];
    const double score = score_of(e, h, r, s), rescale = score > sums->maximum ? exp(sums->maximum - score) : 1;
    if (score == -INFINITY)
        return;
    sums->maximum = score > sums->maximum ? score : sums->maximum;
    const double weight = exp(score - sums->maximum), value = kept(e, h, r, s) * weight;
    sums->total = sums->total * rescale + weight;
    for (uint32_t i = 0; i < width; i++)
        sums->out[i] = sums->out[i] * rescale + (value != 0 ? value * load_packed(e, h->keys + s, true, i) : 0);
}

// An element of the output. A row that sees no key follows the rule for such rows once all slices have seen none.
static double output_of(const vkf__execution *e, const head *h, const row_sums *sums, uint32_t i)
{
    const struct vkf_attention_grad_params *p = e->params;
    double all = 0;
    if (sums->total != 0)
        return sums->out[i] / sums->total;
    if (p->slice + 1 < p->slices || p->fully_masked == VKF_SHADER_FULLY_MASKED_ZERO)
        return 0;
    for (uint64_t s = 0; s < p->k_len; s++)
        all += load_packed(e, h->keys + s, true, i);
    return all * vkf__fully_masked_weight(p->fully_masked, p->k_len);
}

static void train_row(const vkf__execution *e, const head *h, uint64_t r)
{
    const struct vkf_attention_grad_params *p = e->params;
    const uint64_t out = h->b * p->out_batch + r / h->group * p->out_row + query_head(h, r) * p->out_head;
    const uint32_t width = e->spec[VKF_ATTENTION_GRAD_SPEC_GIVES] == VKF_ATTENTION_GRAD_OUTPUT
                               ? e->spec[VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM]
                               : 0;
    row_sums sums;
    start_row(e, h->stats + r, out, vkf__sink(e, &h->masks, query_head(h, r)), &sums);
    for (uint64_t s = slice_begin(e, p->k_len, p->slice); s < slice_begin(e, p->k_len, p->slice + 1); s++)
        add_key(e, h, r, s, &sums);
    for (uint32_t i = 0; i < width; i++)
        vkf__store(e, VKF_ATTENTION_GRAD_BINDING_OUT, out + i, output_of(e, h, &sums, i));
    vkf__store(e, VKF_ATTENTION_GRAD_BINDING_ROWS, p->maxima_first + h->stats + r,
               isnan(sums.total) ? NAN : sums.maximum);
    vkf__store(e, VKF_ATTENTION_GRAD_BINDING_ROWS, p->factors_first + h->stats + r,
               sums.total == 0 ? 0 : 1 / sums.total);
}

vkf_status vkf__attention_train_reference(const vkf__execution *e)
{
    const struct vkf_attention_grad_params *p = e->params;
    for (uint64_t i = 0; i < p->key_heads; i++) {
        const head h = view_head(e, i);
        for (uint64_t r = 0; r < h.query_count; r++)
            train_row(e, &h, r);
    }
    return VKF_OK;
}

static double weight_of(const vkf__execution *e, const head *h, uint64_t r, uint64_t s)
{
    const struct vkf_attention_grad_params *p = e->params;
    const double score = score_of(e, h, r, s);
    const double maximum = vkf__load(e, VKF_ATTENTION_GRAD_BINDING_ROWS, p->maxima_first + h->stats + r);
    const double factor = vkf__load(e, VKF_ATTENTION_GRAD_BINDING_ROWS, p->factors_first + h->stats + r);
    return score == -INFINITY || factor == 0 ? 0 : exp(score - maximum) * factor;
}

// The gradient of a score, of which `weight` is the weight.
static double change_of(const vkf__execution *e, const head *h, uint64_t r, uint64_t s, double weight)
{
    const struct vkf_attention_grad_params *p = e->params;
    const double keeps = kept(e, h, r, s), product = keeps != 0 ? keeps * multiply(e, h, r, s, true) : 0;
    return weight * (product - vkf__load(e, VKF_ATTENTION_GRAD_BINDING_ROWS, p->deltas_first + h->stats + r));
}

// Adds a row of the other kind, weighted, to the sums of an own row.
static void add_pair(const vkf__execution *e, const head *h, uint64_t r, uint64_t s, uint64_t other, double *first,
                     double *second)
{
    const uint32_t width = e->spec[VKF_ATTENTION_GRAD_SPEC_HEAD_DIM],
                   v_width = e->spec[VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM];
    const double weight = weight_of(e, h, r, s);
    if (weight == 0)
        return;
    const double bend = vkf__cap_slope(&h->masks, multiply(e, h, r, s, false));
    const double change = bend * change_of(e, h, r, s, weight), value = kept(e, h, r, s) * weight;
    for (uint32_t i = 0; i < width; i++)
        first[i] += change * load_packed(e, other, false, i);
    for (uint32_t i = 0; i < v_width && value != 0; i++)
        second[i] += value * load_packed(e, other, true, i);
}

static void store_sums(const vkf__execution *e, uint32_t binding, uint64_t out, uint32_t width, const double *sums,
                       double factor, bool adds)
{
    for (uint32_t i = 0; i < width; i++)
        vkf__store(e, binding, out + i, factor * sums[i] + (adds ? vkf__load(e, binding, out + i) : 0));
}

static void give_row(const vkf__execution *e, const head *h, uint64_t own)
{
    const struct vkf_attention_grad_params *p = e->params;
    const uint32_t gives = e->spec[VKF_ATTENTION_GRAD_SPEC_GIVES];
    const bool keys = vkf__attention_grad_owns_keys(gives), both = gives == VKF_ATTENTION_GRAD_KEY_AND_VALUE;
    const uint32_t width = e->spec[VKF_ATTENTION_GRAD_SPEC_HEAD_DIM],
                   v_width = e->spec[VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM];
    const uint64_t others = keys ? h->query_count : p->k_len, l = keys ? own : own / h->group;
    const uint64_t at = keys ? h->kv_head : h->kv_head * h->group + own % h->group;
    const uint64_t out = h->b * p->out_batch + l * p->out_row + at * p->out_head;
    double first[MOST_WIDTH] = {0}, second[MOST_WIDTH] = {0};
    assert(width <= MOST_WIDTH && v_width <= MOST_WIDTH);
    for (uint64_t i = slice_begin(e, others, p->slice); i < slice_begin(e, others, p->slice + 1); i++)
        add_pair(e, h, keys ? i : own, keys ? own : i, keys ? h->queries + i : h->keys + i, first, second);
    if (gives == VKF_ATTENTION_GRAD_VALUE)
        store_sums(e, VKF_ATTENTION_GRAD_BINDING_OUT, out, v_width, second, 1, p->adds);
    else
        store_sums(e, VKF_ATTENTION_GRAD_BINDING_OUT, out, width, first, (double)p->scale, p->adds);
    if (both)
        store_sums(e, VKF_ATTENTION_GRAD_BINDING_VALUE_OUT,
                   h->b * p->value_out_batch + l * p->value_out_row + at * p->value_out_head, v_width, second, 1,
                   p->value_adds);
}

// Sums over those batch entries of a slice whose rows are packed.
static void give_bias(const vkf__execution *e, uint64_t kv_head, uint64_t r, uint64_t s)
{
    const struct vkf_attention_grad_params *p = e->params;
    double sum = 0;
    for (uint64_t b = slice_begin(e, p->batch, p->slice); b < slice_begin(e, p->batch, p->slice + 1); b++) {
        const uint64_t number = b * p->kv_heads + kv_head, packed = number - p->first_key_head;
        if (number < p->first_key_head || packed >= p->key_heads)
            continue;
        const head h = view_head(e, packed);
        const double weight = weight_of(e, &h, r, s);
        sum += weight != 0 ? change_of(e, &h, r, s, weight) * vkf__mask_slope(e, &h.masks, query_head(&h, r)) : 0;
    }
    const uint64_t group = p->heads / p->kv_heads, h = kv_head * group + r % group;
    store_sums(e, VKF_ATTENTION_GRAD_BINDING_OUT, r / group * p->out_row + h * p->out_head + s, 1, &sum, 1, p->adds);
}

vkf_status vkf__attention_grad_reference(const vkf__execution *e)
{
    const struct vkf_attention_grad_params *p = e->params;
    const uint32_t gives = e->spec[VKF_ATTENTION_GRAD_SPEC_GIVES];
    const uint64_t queries = (uint64_t)p->q_len * (p->heads / p->kv_heads), cells = queries * p->mask_cols;
    for (uint64_t i = 0; gives == VKF_ATTENTION_GRAD_BIAS && i < p->kv_heads * cells; i++)
        give_bias(e, i / cells, i % cells / p->mask_cols, i % p->mask_cols);
    for (uint64_t i = 0; gives != VKF_ATTENTION_GRAD_BIAS && i < p->key_heads; i++) {
        const head h = view_head(e, i);
        for (uint64_t own = 0; own < (vkf__attention_grad_owns_keys(gives) ? p->k_len : queries); own++)
            give_row(e, &h, own);
    }
    return VKF_OK;
}

static void pack_row(const vkf__execution *e, uint64_t row)
{
    const struct vkf_attention_grad_pack_params *p = e->params;
    const uint64_t number = p->first_key_head + row / p->group / p->len, b = number / p->kv_heads;
    const uint64_t l = row / p->group % p->len, h = number % p->kv_heads * p->group + row % p->group;
    const uint64_t x = b * p->x_batch + l * p->x_row + h * p->x_head;
    const uint64_t out = b * p->out_batch + l * p->out_row + h * p->out_head;
    const bool deltas = e->spec[VKF_ATTENTION_GRAD_PACK_SPEC_DELTAS];
    double delta = 0;
    for (uint64_t i = 0; i < filled(p->width); i++) {
        const double value = i < p->width ? vkf__load(e, VKF_ATTENTION_GRAD_PACK_BINDING_X, x + i) : 0;
        vkf__store(e, VKF_ATTENTION_GRAD_PACK_BINDING_ROWS, 4 * (row * p->row_quads + p->first_quad) + i, value);
        if (deltas && i < p->width)
            delta += value * vkf__load(e, VKF_ATTENTION_GRAD_PACK_BINDING_OUT, out + i);
    }
    if (deltas)
        vkf__store(e, VKF_ATTENTION_GRAD_PACK_BINDING_DELTAS, (uint64_t)p->first_key_head * p->len * p->group + row,
                   delta);
}

vkf_status vkf__attention_grad_pack_reference(const vkf__execution *e)
{
    const struct vkf_attention_grad_pack_params *p = e->params;
    for (uint64_t row = 0; row < p->rows; row++)
        pack_row(e, row);
    return VKF_OK;
}

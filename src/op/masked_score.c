// Scores under their masks.
#include "op/masked_score.h"

#include <math.h>

#include "shared/types.h"

static bool is_seen(const vkf__execution *e, uint32_t binding, uint32_t kind, uint64_t at)
{
    const double value =
        kind == VKF_SHADER_MASK_BOOL_EXCLUDE || kind == VKF_SHADER_MASK_BOOL_ATTEND ? vkf__load(e, binding, at) : 0;
    return kind != VKF_SHADER_MASK_BOOL_EXCLUDE ? kind != VKF_SHADER_MASK_BOOL_ATTEND || value != 0 : value == 0;
}

double vkf__mask_slope(const vkf__execution *e, const vkf__score_masks *masks, uint64_t h)
{
    return masks->form & VKF_SHADER_SCORE_SLOPED ? vkf__load(e, masks->slopes_binding, h) : 1;
}

double vkf__sink(const vkf__execution *e, const vkf__score_masks *masks, uint64_t h)
{
    return masks->form & VKF_SHADER_SCORE_SUNK ? vkf__load(e, masks->sinks_binding, h) : -INFINITY;
}

static float added(const vkf__execution *e, uint32_t binding, uint32_t kind, uint64_t at)
{
    return kind == VKF_SHADER_MASK_ADDITIVE ? (float)vkf__load(e, binding, at) : 0;
}

// What the mask, or the distance, adds to the score of key s for a query.
static float added_by_query(const vkf__execution *e, const vkf__score_masks *masks, uint64_t at, uint64_t h,
                            int64_t own, uint64_t s)
{
    const float slope = (float)vkf__mask_slope(e, masks, h), mask = added(e, masks->binding, masks->kind, at);
    if (!(masks->form & VKF_SHADER_SCORE_SLOPED) || mask == -INFINITY)
        return mask;
    const int64_t distance = (int64_t)s - own - masks->distance_offset;
    return slope * (masks->kind == VKF_SHADER_MASK_ADDITIVE ? mask : -(float)(distance < 0 ? -distance : distance));
}

static double cap(const vkf__score_masks *masks, double score)
{
    return masks->form & VKF_SHADER_SCORE_CAPPED ? masks->soft_cap * tanh(score / masks->soft_cap) : score;
}

double vkf__cap_slope(const vkf__score_masks *masks, double x)
{
    const double share = masks->form & VKF_SHADER_SCORE_CAPPED ? tanh(masks->scale * x / masks->soft_cap) : 0;
    return 1 - share * share;
}

static bool is_near(const vkf__score_masks *masks, int64_t own, uint64_t s)
{
    const int64_t position = own + masks->causal_offset;
    if (masks->causal && (int64_t)s > position)
        return false;
    return !masks->windowed || (int64_t)s + masks->window > position;
}

double vkf__masked_score(const vkf__execution *e, const vkf__score_masks *masks, uint64_t b, uint64_t h, uint64_t l,
                         uint64_t s, double x)
{
    double score = cap(masks, (double)masks->scale * x);
    if (s < masks->cols) {
        const uint64_t at = b * masks->batch + h * masks->head + l * masks->row + s;
        const bool lengths = masks->key_kind == VKF_SHADER_MASK_LENGTHS;
        const uint64_t key_at = b * masks->key_batch + (lengths ? 0 : s);
        const double length = lengths ? vkf__load(e, masks->key_binding, key_at) : 0;
        const int64_t own = (int64_t)l + (masks->causal == VKF_SHADER_CAUSAL_LENGTHS ? (int64_t)length : 0);
        if (!is_near(masks, own, s) || !is_seen(e, masks->binding, masks->kind, at) ||
            !is_seen(e, masks->key_binding, masks->key_kind, key_at) || (lengths && (double)s >= length))
            return -INFINITY;
        if (masks->kind == VKF_SHADER_MASK_ADDITIVE || masks->key_kind == VKF_SHADER_MASK_ADDITIVE ||
            (masks->form & VKF_SHADER_SCORE_SLOPED))
            score = (float)score +
                    (added_by_query(e, masks, at, h, own, s) + added(e, masks->key_binding, masks->key_kind, key_at));
    }
    return isinf((float)score) ? (float)score : score;
}

double vkf__fully_masked_weight(uint32_t rule, uint32_t k_len)
{
    return rule == VKF_SHADER_FULLY_MASKED_NAN ? NAN : rule == VKF_SHADER_FULLY_MASKED_UNIFORM ? 1.0 / k_len : 0;
}

// What all scores may be as low as: it hides no key.
#define LOW_SCORE (-3e38)

// A mask of a kind: bools, or numbers of which some hide a key for good. The others are random or, at edge shapes, low.
static vkf__span mask_of(vkf__cases *c, vkf_mask_kind kind, uint64_t count)
{
    const vkf_dtype dtype = kind == VKF_MASK_ADDITIVE ? VKF_DTYPE_F32 : VKF_DTYPE_BOOL;
    const vkf__span span = vkf__case_floats(c, dtype, kind == VKF_MASK_NONE ? 0 : count);
    const bool low = kind == VKF_MASK_ADDITIVE && !c->draw;
    for (uint64_t i = 0; i < span.size_bytes / vkf_dtype_size(dtype); i++) {
        const bool hidden = i % 3 == 1;
        uint8_t *at = (uint8_t *)vkf__case_bytes(c, &span) + i * vkf_dtype_size(dtype);
        if (dtype == VKF_DTYPE_BOOL)
            *at = hidden == (kind == VKF_MASK_BOOL_EXCLUDE);
        else if ((hidden && c->draw) || low)
            vkf__element_set(dtype, at, hidden ? -INFINITY : LOW_SCORE);
    }
    return span;
}

static vkf__span lengths_of(vkf__cases *c, uint32_t batch, uint32_t k_len)
{
    const vkf__span span = vkf__case_ints(c, 0, 1, batch);
    int32_t *lengths = vkf__case_bytes(c, &span);
    for (uint32_t b = 0; b < batch; b++)
        lengths[b] =
            vkf__case_pick(c, 1, 4) == 0 ? 0 : (int32_t)vkf__case_pick(c, b % 2 == 0 ? k_len : k_len / 2, k_len + 3);
    return span;
}

// Where the mask of a batch entry, a head and a query lies; drawn ones may be shared, with columns that none covers.
static void place_mask(vkf__cases *c, const uint32_t scores[4], bool all, vkf__masks *out)
{
    const uint32_t uncovered = all ? 0 : vkf__case_pick(c, 0, 3);
    out->cols = uncovered < scores[3] ? scores[3] - uncovered : scores[3];
    out->row = out->cols + vkf__case_pick(c, 0, 3);
    out->head = vkf__case_flip(c, false) ? scores[2] * out->row : 0;
    out->batch = vkf__case_flip(c, false) ? (out->head > 0 ? scores[1] : 1) * scores[2] * out->row : 0;
}

static vkf__span slopes_of(vkf__cases *c, uint32_t heads)
{
    const vkf__span span = vkf__case_floats(c, VKF_DTYPE_F32, heads);
    float *slopes = vkf__case_bytes(c, &span);
    for (uint32_t h = 0; h < heads; h++)
        slopes[h] /= 2;
    return span;
}

// What else becomes of scores: a cap that bends them, slopes of either sign, and sinks, of which one has no weight. By
// slopes beyond 1 low scores would be infinite.
static void draw_form(vkf__cases *c, uint32_t form, uint32_t heads, int32_t position, vkf__masks *out)
{
    static const float no_weight = -INFINITY;
    out->distance_offset = position + (int32_t)vkf__case_pick(c, 0, 3);
    if (form & VKF_SHADER_SCORE_CAPPED)
        out->soft_cap = vkf__case_factor(c, 0.5f);
    if (form & VKF_SHADER_SCORE_SLOPED)
        out->slopes = slopes_of(c, heads);
    if (form & VKF_SHADER_SCORE_SUNK)
        out->sinks = vkf__case_floats(c, VKF_DTYPE_F32, heads);
    if (vkf__present(&out->sinks) && vkf__case_flip(c, false))
        vkf__element_set(VKF_DTYPE_F32, vkf__case_bytes(c, &out->sinks), no_weight);
}

void vkf__case_draw_masks(vkf__cases *c, const vkf__mask_constants *ids, const uint32_t scores[4], bool all,
                          int32_t causal_offset, vkf__masks *out)
{
    const uint32_t kind = vkf__case_pick(c, VKF_MASK_NONE, VKF_MASK_LENGTHS);
    const uint32_t any = vkf__case_pick(c, VKF_MASK_LENGTHS, 2 * VKF_MASK_LENGTHS); // lengths in every second case
    const bool causal = vkf__case_flip(c, true), windowed = vkf__case_flip(c, false);
    const uint32_t form = vkf__case_pick(c, 0, 16); // none in every second case
    const uint32_t rule = vkf__case_pick(c, VKF_FULLY_MASKED_ZERO, VKF_FULLY_MASKED_UNIFORM + 1);
    *out = (vkf__masks){
        .kind = (vkf_mask_kind)vkf__case_constant(c, ids->kind, kind),
        .key_kind =
            (vkf_mask_kind)vkf__case_constant(c, ids->key_kind, any < VKF_MASK_LENGTHS ? any : VKF_MASK_LENGTHS),
        .causal_offset = c->draw ? (int32_t)vkf__case_pick(c, 0, scores[3] + 3) - 2 : causal_offset,
        .fully_masked = (vkf_fully_masked)vkf__case_constant(c, ids->fully_masked, rule),
    };
    const bool behind = out->key_kind == VKF_MASK_LENGTHS && vkf__case_flip(c, false);
    out->causal = vkf__case_constant(c, ids->causal,
                                     !causal  ? 0u
                                     : behind ? VKF_SHADER_CAUSAL_LENGTHS
                                              : VKF_SHADER_CAUSAL_FIRST);
    if (out->causal == VKF_SHADER_CAUSAL_LENGTHS)
        out->causal_offset -= (int32_t)scores[3];
    if (vkf__case_constant(c, ids->window, windowed))
        out->window = 1 + vkf__case_pick(c, 10, scores[3] + 2);
    draw_form(c, vkf__case_constant(c, ids->form, form < 8 ? form : 0), scores[1], out->causal_offset, out);
    place_mask(c, scores, all, out);
    const uint64_t heads = out->head > 0 ? scores[1] : 1, batch = out->batch > 0 ? scores[0] : 1;
    out->mask = mask_of(c, out->kind, batch * heads * scores[2] * out->row);
    if (out->key_kind == VKF_MASK_LENGTHS) {
        out->key_batch = 1;
        out->key_mask = lengths_of(c, scores[0], scores[3]);
    } else {
        out->key_batch = out->cols + vkf__case_pick(c, 0, 3);
        out->key_mask = mask_of(c, out->key_kind, (uint64_t)scores[0] * out->key_batch);
    }
}

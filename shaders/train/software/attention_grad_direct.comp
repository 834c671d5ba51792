// Attention for training and its gradients without shared memory or barriers, for software rasterisers; semantics in
// shared/attention_grad.h.
//
// An invocation has one row of its own, a query or a key, whose elements and sums stay in its registers, or in the
// cache of a processor. All invocations of a workgroup, which is a subgroup, walk over the same other rows, STEP at a
// time, and read these by device address, uniformly: to lavapipe such a load is a part of the multiply-add. With
// SOURCE_TEXEL, for versions where it is not, each invocation fetches one of these rows through a texel buffer, and the
// subgroup exchanges them. See attention_direct.comp for the fence, and for the loops being do-while. Loops
// that are unrolled have a constant number of turns, since Mesa 22.3 leaves others as they are.
//
// Rows that none of the workgroup's own see may hold anything. When sums are taken the first row of the step that is
// seen stands in for them, or zeros do, with their weight, which is 0.
//
// Invariants (the registry checks them): EACH and LANES are 1, DEPTH is 4 and not used, the local size is that of a
// subgroup, and with SOURCE_TEXEL it is STEP. All loops over STEP and dims are unrolled, and the time to compile grows
// with their product.
// Grid: as of attention_grad.comp.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef SOURCE_TEXEL
#extension GL_KHR_shader_subgroup_shuffle : require
#define ROWS_ADDRESS
#else
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#define ROWS_ADDRESS uvec2 rows_address;
#endif
#extension GL_KHR_shader_subgroup_arithmetic : require

#include "include/storage.glsl"
#include "shared/attention_grad.h"
#include "include/grid.glsl"
#include "include/dropout.glsl"

layout(constant_id = VKF_ATTENTION_GRAD_SPEC_STEP) const uint STEP = 8;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_HEAD_DIM) const uint HEAD_DIM = 64;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM) const uint V_HEAD_DIM = 64;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_MASK_KIND) const uint MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_KEY_MASK_KIND) const uint KEY_MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_CAUSAL) const uint CAUSAL = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_WINDOW) const uint WINDOW = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_SCORE_FORM) const uint SCORE_FORM = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_GIVES) const uint GIVES = VKF_ATTENTION_GRAD_OUTPUT;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_DROPOUT) const uint DROPOUT = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_grad_params p; };
#ifdef ATTENTION_GRAD_PAIR
layout(push_constant) uniform offsets_block {
    uint rows_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset, value_out_offset;
    ROWS_ADDRESS
};
READ_WRITE(TYPE_OUT, VKF_ATTENTION_GRAD_BINDING_VALUE_OUT, value_out)
#else
layout(push_constant) uniform offsets_block {
    uint rows_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset;
    ROWS_ADDRESS
};
#endif

READ_WRITE(TYPE_OUT, VKF_ATTENTION_GRAD_BINDING_OUT, out)
READ(bytes, VKF_ATTENTION_GRAD_BINDING_MASK, mask)
READ(bytes, VKF_ATTENTION_GRAD_BINDING_KEY_MASK, key_mask)

#ifdef SOURCE_TEXEL
layout(set = 0, binding = VKF_ATTENTION_GRAD_BINDING_ROWS) uniform textureBuffer rows_texels;
#else
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer floats { float data[]; };
#endif
#ifdef ATTENTION_TRAIN
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer floats_out { float data[]; };
#endif

// The first half of a row is the query or the key; the second is the gradient or the value.
#ifdef ATTENTION_TRAIN
const bool TRAINS = true, GIVES_BOTH = false, OWNS_KEYS = false, SUMS_FIRST = false;
const bool SUMS_SECOND = GIVES == VKF_ATTENTION_GRAD_OUTPUT;
#else
const bool TRAINS = false;
const bool GIVES_BOTH = GIVES == VKF_ATTENTION_GRAD_KEY_AND_VALUE;
const bool OWNS_KEYS = GIVES >= VKF_ATTENTION_GRAD_KEY;
const bool SUMS_FIRST = GIVES == VKF_ATTENTION_GRAD_QUERY || GIVES == VKF_ATTENTION_GRAD_KEY || GIVES_BOTH;
const bool SUMS_SECOND = GIVES == VKF_ATTENTION_GRAD_VALUE || GIVES_BOTH;
#endif
const uint FIRST = (HEAD_DIM + 3) / 4 * 4;
const uint SECOND = (V_HEAD_DIM + 3) / 4 * 4;
const uint ROW = FIRST + SECOND;
const uint FENCE = 8;
const uint BLOCK = 8; // elements of a row that are summed side by side
const uint OWN = gl_WorkGroupSize.x;

#include "include/attention_grad_rows.glsl"

float own_first[FIRST];
float own_second[SECOND];
float first_sums[FIRST];
float second_sums[SECOND];
float own_maximum, own_factor, own_delta; // of a query
float maximum, total;         // of the weights, relative to maximum
uint kept;                    // a bit for each of the scores
float scores[STEP];           // then weights
float changes[STEP];           // of scores
float bends[CAPPED ? STEP : 1]; // of the capped scores
uint first_query; // among those of all key heads
uint first_other; // row

uint own_row(work w)
{
    return w.first_own + gl_LocalInvocationID.x;
}

// Each source gives
//   number(element)          one of the rows' buffer
//   OTHERS                   what an invocation knows of a step's other rows
//   view_others(first, ...)  of those from `first` on; from `end` on it is the row before
//   keep_seen(others, ...)   the same without those that have no bit in `seen`
//   OTHER(j, i)              element i of the j-th of `others`
//   query_number(from, ...)  the j-th query's, of numbers from element `from` on
#ifdef SOURCE_TEXEL
#define OTHERS float[ROW]
#define OTHER(j, i) subgroupShuffle(others[i], j)

vec4 four_numbers(uint element)
{
    return texelFetch(rows_texels, int(rows_offset + element / 4));
}

float number(uint element)
{
    return four_numbers(element)[element % 4];
}

// The row that the invocation fetches.
uint fetched_row(uint first, uint end)
{
    return min(first + gl_SubgroupInvocationID, end - 1);
}

void view_others(uint first, uint end, out OTHERS others)
{
    uint at = (first_other + fetched_row(first, end)) * ROW;
    [[unroll]] for (uint i = 0; i < ROW; i += 4) {
        vec4 four = four_numbers(at + i);
        [[unroll]] for (uint c = 0; c < 4; ++c)
            others[i + c] = four[c];
    }
}

void keep_seen(inout OTHERS others, uint first, uint end, uint seen)
{
    bool keep = (seen >> gl_SubgroupInvocationID & 1u) != 0;
    [[unroll]] for (uint i = 0; i < ROW; ++i)
        others[i] = keep ? others[i] : 0.0;
}

float query_number(uint from, uint first, uint end, uint j)
{
    return subgroupShuffle(number(from + first_query + fetched_row(first, end)), j);
}
#else
#define OTHERS floats[STEP]
#define OTHER(j, i) others[j].data[i]

// 64-bit sums by hand: shaderInt64 is optional.
uvec2 address_of(uint element)
{
    uint carry, low = uaddCarry(rows_address.x, element << 2, carry);
    return uvec2(low, rows_address.y + (element >> 30) + carry);
}

#define floats_at(element) floats(address_of(element))

float number(uint element)
{
    return floats_at(element).data[0];
}

// Not functions: SPIRV-Cross copies no arrays of references for Metal.
#define view_others(first, end, others)                                          \
    {                                                                            \
        [[unroll]] for (uint j = 0; j < STEP; ++j)                               \
            others[j] = floats_at((first_other + min(first + j, end - 1)) * ROW); \
    }

#define keep_seen(others, first, end, seen)                                          \
    {                                                                                \
        [[unroll]] for (uint j = 0; j < STEP; ++j) {                                 \
            uint row = (seen >> j & 1u) != 0 ? j : uint(findLSB(seen));              \
            others[j] = floats_at((first_other + min(first + row, end - 1)) * ROW);  \
        }                                                                            \
    }

float query_number(uint from, uint first, uint end, uint j)
{
    return number(from + first_query + min(first + j, end - 1));
}
#endif

#ifdef ATTENTION_TRAIN
// What the dispatches before this one have found: an output, divided by its total, and row stats.
void start_output(work w, uint own)
{
    float before = p.slice > 0 ? number(p.maxima_first + first_query + own) : LOWEST;
    float factor = p.slice > 0 ? number(p.factors_first + first_query + own) : 0.0;
    vec2 begun = start_softmax(head_of(w, own), p.slice == 0);
    maximum = is_nan(before) ? LOWEST : max(before, begun.x);
    total = is_nan(before) ? before : factor > 0.0 ? 1.0 / factor : begun.y;
    uint first = first_element(w, own, p.out_batch, p.out_row, p.out_head);
    [[unroll]] for (uint i = 0; i < V_HEAD_DIM; ++i) {
        if (SUMS_SECOND && p.slice > 0)
            second_sums[i] = total * out_load(first + i);
    }
}
#endif

void start(work w)
{
    uint at = key_head_of(w) - p.first_key_head, keys = p.keys_first + at * p.k_len, queries = at * query_count();
    uint own = min(own_row(w), own_count() - 1);
    first_query = key_head_of(w) * query_count();
    first_other = OWNS_KEYS ? queries : keys;
    uint row_at = ((OWNS_KEYS ? keys : queries) + own) * ROW;
    [[unroll]] for (uint i = 0; i < FIRST; ++i) {
        own_first[i] = number(row_at + i);
        first_sums[i] = 0.0;
    }
    [[unroll]] for (uint i = 0; i < SECOND; ++i) {
        own_second[i] = number(row_at + FIRST + i);
        second_sums[i] = 0.0;
    }
    if (!TRAINS && !OWNS_KEYS) {
        own_maximum = number(p.maxima_first + first_query + own);
        own_factor = number(p.factors_first + first_query + own);
        own_delta = number(p.deltas_first + first_query + own);
    }
#ifdef ATTENTION_TRAIN
    start_output(w, own);
#endif
}

// A half of the own row times that of each other, beginning at element `from`.
#define MULTIPLY(name, to, from, dim)                                                \
    void multiply_##name(OTHERS others)                                              \
    {                                                                                \
        [[unroll]] for (uint j = 0; j < STEP; ++j)                                   \
            to[j] = 0.0;                                                             \
        [[unroll]] for (uint i = 0; i < dim; i += FENCE) {                           \
            [[unroll]] for (uint j = 0; j < STEP; ++j) {                             \
                [[unroll]] for (uint c = 0; c < FENCE; ++c) {                        \
                    if (i + c < dim)                                                 \
                        to[j] = fma(own_##name[i + c], OTHER(j, from + i + c), to[j]); \
                }                                                                    \
            }                                                                        \
            memoryBarrierBuffer();                                                   \
        }                                                                            \
    }
MULTIPLY(first, scores, 0, FIRST)
MULTIPLY(second, changes, FIRST, SECOND)

void mask_scores(work w, uint first, uint end)
{
    [[unroll]] for (uint j = 0; j < STEP; ++j) {
        uint other = min(first + j, end - 1), row = OWNS_KEYS ? other : own_row(w);
        uint key = OWNS_KEYS ? min(own_row(w), p.k_len - 1) : other;
        float score = cap_score(scores[j] * p.scale);
        if (CAPPED)
            bends[j] = cap_slope(score);
        if (key < p.mask_cols)
            score = mask_score(view_query(w, row), key, score);
        scores[j] = first + j < end ? score : MASKED;
    }
}

// Draws what of a step's weights is kept.
void draw(work w, uint first)
{
    uint group = p.heads / p.kv_heads, draws = OWNS_KEYS ? STEP : STEP / 4 + 1;
    kept = 0;
    [[unroll]] for (uint i = 0; i < draws; ++i) {
        uint row = OWNS_KEYS ? first + i : own_row(w), quad = OWNS_KEYS ? own_row(w) / 4 : first / 4 + i;
        uint number = (w.b * p.heads + head_of(w, row)) * p.q_len + row / group;
        bvec4 keeps = dropout_keeps(uvec4(quad, number, p.stream, p.step), uvec2(p.seed_low, p.seed_high), p.threshold);
        uint bits = uint(keeps.x) | uint(keeps.y) << 1 | uint(keeps.z) << 2 | uint(keeps.w) << 3;
        if (OWNS_KEYS)
            kept |= (bits >> own_row(w) % 4 & 1u) << i;
        else
            kept |= i == 0 ? bits >> first % 4 : bits << (4 * i - first % 4);
    }
}

// What dropout makes of the product that score j stands for.
float dropped(uint j, float value)
{
    if (DROPOUT == 0)
        return value;
    return (kept >> j & 1u) != 0 ? value * p.keep_scale : 0.0;
}

#ifdef ATTENTION_TRAIN
// Brings the sums to a maximum that takes in a step's scores. A NaN score compares false and leaves it alone.
void raise_maximum()
{
    float previous = maximum;
    [[unroll]] for (uint j = 0; j < STEP; ++j)
        maximum = scores[j] > maximum ? scores[j] : maximum;
    float rescale = exp(previous - maximum);
    total *= rescale;
    [[unroll]] for (uint i = 0; i < V_HEAD_DIM; ++i) {
        if (SUMS_SECOND)
            second_sums[i] *= rescale;
    }
}
#endif

#define SUMS(name, weights, from, dim)                                                  \
    void name##_add(OTHERS others)                                                      \
    {                                                                                   \
        [[unroll]] for (uint i = 0; i < dim; i += BLOCK) {                              \
            float part[BLOCK];                                                          \
            [[unroll]] for (uint c = 0; c < BLOCK; ++c)                                 \
                part[c] = i + c < dim ? name##_sums[i + c] : 0.0;                       \
            [[unroll]] for (uint j = 0; j < STEP; ++j) {                                \
                [[unroll]] for (uint c = 0; c < BLOCK; ++c) {                           \
                    if (i + c < dim)                                                    \
                        part[c] = fma(weights[j], OTHER(j, from + i + c), part[c]);     \
                }                                                                       \
            }                                                                           \
            [[unroll]] for (uint c = 0; c < BLOCK; ++c) {                               \
                if (i + c < dim)                                                        \
                    name##_sums[i + c] = part[c];                                       \
            }                                                                           \
        }                                                                               \
    }
SUMS(first, changes, 0, FIRST)
SUMS(second, scores, FIRST, SECOND)

// Weights of the scores. Returns, as bits, which of the other rows have any.
uint weigh(uint first, uint end)
{
    uint seen = 0;
    [[unroll]] for (uint j = 0; j < STEP; ++j) {
        float highest = TRAINS ? maximum : own_maximum;
        scores[j] = weight(scores[j], OWNS_KEYS ? query_number(p.maxima_first, first, end, j) : highest);
        if (TRAINS)
            total += scores[j];
        else
            scores[j] *= OWNS_KEYS ? query_number(p.factors_first, first, end, j) : own_factor;
        seen |= floatBitsToUint(scores[j]) != 0 ? 1u << j : 0u;
    }
    return subgroupOr(seen);
}

// What a weight of 0 hides may be no number.
void make_gradients(uint first, uint end)
{
    [[unroll]] for (uint j = 0; j < STEP; ++j) {
        float change = dropped(j, changes[j]);
        change -= OWNS_KEYS ? query_number(p.deltas_first, first, end, j) : own_delta;
        if (CAPPED)
            change *= bends[j];
        changes[j] = floatBitsToUint(scores[j]) != 0 ? scores[j] * change : 0.0;
    }
}

void take_step(work w, uint first, uint end)
{
    OTHERS others;
    view_others(first, end, others);
    if (DROPOUT != 0)
        draw(w, first);
    multiply_first(others);
    mask_scores(w, first, end);
#ifdef ATTENTION_TRAIN
    raise_maximum();
#endif
    uint seen = weigh(first, end);
    if (seen == 0 || !(SUMS_FIRST || SUMS_SECOND))
        return;
    keep_seen(others, first, end, seen);
    if (SUMS_FIRST) {
        multiply_second(others);
        make_gradients(first, end);
        first_add(others);
    }
    [[unroll]] for (uint j = 0; j < STEP; ++j)
        scores[j] = dropped(j, scores[j]);
    if (SUMS_SECOND)
        second_add(others);
}

// Goes through the other rows: two ranges of them, where keys after mask_cols follow those under the masks.
void walk(work w)
{
    uint last = min(w.first_own + OWN, own_count()) - 1;
    uvec2 range, rest = uvec2(0);
    if (OWNS_KEYS) {
        range = seeing_rows(w, w.first_own, last);
    } else {
        range = visible_columns(view_query(w, w.first_own), view_query(w, last));
        rest = uvec2(p.mask_cols, p.k_len);
    }
    uint range_steps = (range.y - range.x + STEP - 1) / STEP;
    uint steps = range_steps + (rest.y - rest.x + STEP - 1) / STEP;
    uint step = slice_begin(steps, p.slice), end_step = slice_begin(steps, p.slice + 1);
    if (step >= end_step)
        return;
    do {
        bool in_range = step < range_steps;
        uint first = in_range ? range.x + step * STEP : rest.x + (step - range_steps) * STEP;
        take_step(w, first, in_range ? range.y : rest.y);
    } while (++step < end_step);
}

#define STORE(to, name, dim, adds, factor)                                                                  \
    void to##_##name(uint first)                                                                            \
    {                                                                                                       \
        [[unroll]] for (uint i = 0; i < dim; ++i)                                                           \
            to##_store(first + i, factor * name##_sums[i] + (adds != 0 ? to##_load(first + i) : 0.0));      \
    }
STORE(out, first, HEAD_DIM, p.adds, p.scale)
STORE(out, second, V_HEAD_DIM, p.adds, 1.0)
#ifdef ATTENTION_GRAD_PAIR
STORE(value_out, second, V_HEAD_DIM, p.value_adds, 1.0)
#endif

#ifdef ATTENTION_TRAIN
// Adds all values to the sums of a row that sees no key.
void add_all_values(work w)
{
    uint key = subgroupOr(uint(total == 0.0)) != 0 ? 0 : p.k_len;
    if (key >= p.k_len)
        return;
    do {
        floats value = floats_at((first_other + key) * ROW + FIRST);
        [[unroll]] for (uint i = 0; i < V_HEAD_DIM; ++i)
            second_sums[i] += total == 0.0 ? value.data[i] : 0.0;
    } while (++key < p.k_len);
}

// Turns sums into an output. A row without any key has the factor 0, and follows the rule for such rows once all slices
// have seen none.
void finish_output(work w)
{
    bool last = p.slice + 1 == p.slices, hidden = total == 0.0;
    [[unroll]] for (uint i = 0; i < V_HEAD_DIM; ++i)
        second_sums[i] = hidden ? 0.0 : second_sums[i];
    if (SUMS_SECOND && last && p.fully_masked == VKF_SHADER_FULLY_MASKED_UNIFORM)
        add_all_values(w);
    float factor = hidden ? 1.0 / float(p.k_len) : 1.0 / total;
    bool none = is_nan(total) || (last && hidden && p.fully_masked == VKF_SHADER_FULLY_MASKED_NAN);
    [[unroll]] for (uint i = 0; i < V_HEAD_DIM; ++i)
        second_sums[i] = none ? nan_value() : factor * second_sums[i];
    if (own_row(w) < own_count()) {
        uint row = first_query + own_row(w);
        floats_out(address_of(p.maxima_first + row)).data[0] = is_nan(total) ? total : maximum;
        floats_out(address_of(p.factors_first + row)).data[0] = hidden ? 0.0 : factor;
    }
}
#endif

void store(work w)
{
    uint first = first_element(w, own_row(w), p.out_batch, p.out_row, p.out_head);
    if (SUMS_FIRST)
        out_first(first);
    if (SUMS_SECOND && !GIVES_BOTH)
        out_second(first);
#ifdef ATTENTION_GRAD_PAIR
    if (GIVES_BOTH)
        value_out_second(first_element(w, own_row(w), p.value_out_batch, p.value_out_row, p.value_out_head));
#endif
}

void main()
{
    work w = view_work(group_index(), p.first_key_head);
    if (!is_packed(w))
        return;
    start(w);
    walk(w);
#ifdef ATTENTION_TRAIN
    finish_output(w);
#endif
    if (own_row(w) < own_count())
        store(w);
}

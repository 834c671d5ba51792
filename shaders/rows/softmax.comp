// Masked softmax over rows; semantics in shared/softmax.h. include/row.glsl says which invocations share a row.
//
// There are two passes. In the first each invocation keeps a running maximum and a sum relative to it, which are merged
// over the row; the second computes the scores again and writes. An element is read again only by the invocation that
// then writes it, so out may alias x.
// include/mask.glsl says how masked, NaN and infinite scores count.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/softmax.h"
#include "include/grid.glsl"
#include "include/row.glsl"

layout(constant_id = VKF_SOFTMAX_SPEC_MASK_KIND) const uint MASK_KIND = 0;
layout(constant_id = VKF_SOFTMAX_SPEC_KEY_MASK_KIND) const uint KEY_MASK_KIND = 0;
layout(constant_id = VKF_SOFTMAX_SPEC_CAUSAL) const uint CAUSAL = 0;
layout(constant_id = VKF_SOFTMAX_SPEC_WINDOW) const uint WINDOW = 0;
layout(constant_id = VKF_SOFTMAX_SPEC_SCORE_FORM) const uint SCORE_FORM = 0;
layout(constant_id = VKF_SOFTMAX_SPEC_LOGARITHM) const uint LOGARITHM = 0;
layout(constant_id = VKF_SOFTMAX_SPEC_FULLY_MASKED) const uint FULLY_MASKED = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_softmax_params p; };
layout(push_constant) uniform offsets_block {
    uint x_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset;
};

READ(TYPE_X, VKF_SOFTMAX_BINDING_X, x)
WRITE(TYPE_OUT, VKF_SOFTMAX_BINDING_OUT, out)
READ(bytes, VKF_SOFTMAX_BINDING_MASK, mask)
READ(bytes, VKF_SOFTMAX_BINDING_KEY_MASK, key_mask)

#define SLOPES_BINDING VKF_SOFTMAX_BINDING_SLOPES
#define SINKS_BINDING VKF_SOFTMAX_BINDING_SINKS
#include "include/mask.glsl"

const uint UNROLL = 8; // columns per iteration: long rows stay below lavapipe's limit of 65,535 iterations

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint k_len;
uint mask_cols;
float scale;
uint lane;
uint lanes;

struct row_view {
    uint first; // of the row in x and out
    uint h;
    mask_view mask;
};

row_view view_row(uint row)
{
    uint l = row % p.q_len;
    uint h = row / p.q_len % p.heads;
    uint b = row / p.q_len / p.heads;
    return row_view(row * k_len, h, view_mask(b, h, l));
}

// The scaled and masked score; MASKED where the column is masked or outside the row.
float load_score(row_view view, uint col)
{
    float score = cap_score(scale * x_load(view.first + min(col, k_len - 1)));
    if (col < mask_cols)
        score = mask_score(view.mask, col, score);
    return col < k_len ? score : MASKED;
}

// A NaN score compares false and leaves the maximum alone.
vec2 scan_row(row_view view)
{
    vec2 begun = start_softmax(view.h, lane == 0);
    float maximum = begun.x;
    float sum = begun.y;
    for (uint first = lane; first < k_len; first += UNROLL * lanes) {
        float scores[UNROLL];
        float previous = maximum;
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            scores[i] = load_score(view, first + i * lanes);
            maximum = scores[i] > maximum ? scores[i] : maximum;
        }
        float part = 0.0; // summed apart, which rounds a long row's sum less often
        [[unroll]] for (uint i = 0; i < UNROLL; ++i)
            part += weight(scores[i], maximum);
        sum = sum * exp(previous - maximum) + part;
    }
    return vec2(maximum, sum);
}

// The pair of the whole row, in every invocation.
#ifdef ROW_SUBGROUP
vec2 merge_partials(vec2 own)
{
    float maximum = subgroupMax(own.x);
    return vec2(maximum, subgroupAdd(own.y * exp(own.x - maximum)));
}
#else
#include "include/local_size.glsl"
#include "include/workgroup_reduce.glsl"

shared vec2 partial[LOCAL_SIZE]; // (maximum, sum of exp(score - maximum))

vec2 merged(vec2 a, vec2 b)
{
    float maximum = b.x > a.x ? b.x : a.x;
    return vec2(maximum, a.y * exp(a.x - maximum) + b.y * exp(b.x - maximum));
}

vec2 merge_partials(vec2 own)
{
    partial[lane] = own;
    WORKGROUP_REDUCE(partial, merged)
    return partial[0];
}
#endif

void fill_row(row_view view, float value)
{
    for (uint first = lane; first < k_len; first += UNROLL * lanes) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes;
            if (col < k_len)
                out_store(view.first + col, value);
        }
    }
}

// `norm` is one over the sum of the row's weights, or its logarithm where that is wanted.
float share_of(float score, float maximum, float norm)
{
    if (LOGARITHM != 0)
        return is_masked(score) ? MASKED : (score - maximum) - norm;
    return weight(score, maximum) * norm;
}

void write_row(row_view view, float maximum, float norm)
{
    for (uint first = lane; first < k_len; first += UNROLL * lanes) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * lanes;
            if (col < k_len)
                out_store(view.first + col, share_of(load_score(view, col), maximum, norm));
        }
    }
}

float fully_masked_value()
{
    if (FULLY_MASKED == VKF_SHADER_FULLY_MASKED_NAN)
        return nan_value();
    if (LOGARITHM != 0)
        return FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM ? -log(float(k_len)) : MASKED;
    return FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM ? 1.0 / float(k_len) : 0.0;
}

void normalise_row(uint row)
{
    row_view view = view_row(row);
    vec2 whole = merge_partials(scan_row(view));
    if (is_nan(whole.y))
        fill_row(view, nan_value());
    else if (whole.y > 0.0)
        write_row(view, whole.x, LOGARITHM != 0 ? log(whole.y) : 1.0 / whole.y);
    else
        fill_row(view, fully_masked_value());
}

void main()
{
    k_len = p.k_len;
    mask_cols = p.mask_cols;
    scale = p.scale;
    lane = row_lane();
    lanes = row_lanes();
    FOR_ROWS(row, p.rows)
        normalise_row(row);
}

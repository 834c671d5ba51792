// Cross entropy of rows of logits and its gradient; semantics in shared/cross_entropy.h. One workgroup per row; the
// local size is a power of two (the registry checks it).
//
// The first pass finds the maximum and a sum relative to it, as softmax.comp does. Whatever goes into the loss is taken
// relative to the maximum, too: a difference of large logits would leave nothing of a small loss. The last pass
// computes the weights again and writes. The gradient may take the logits' place: only the invocation that reads an
// element then writes there, but for the label's, which goes through shared memory ahead of a barrier.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/cross_entropy.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/math.glsl"
#include "include/workgroup_reduce.glsl"

layout(constant_id = VKF_CROSS_ENTROPY_SPEC_HAS_GRADIENT) const uint HAS_GRADIENT = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_cross_entropy_params p; };
layout(push_constant) uniform offsets_block { uint loss_offset, labels_offset, logits_offset, gradient_offset; };

WRITE(f32, VKF_CROSS_ENTROPY_BINDING_LOSS, loss)
READ(i32, VKF_CROSS_ENTROPY_BINDING_LABELS, labels)
READ(TYPE_X, VKF_CROSS_ENTROPY_BINDING_LOGITS, logits)
WRITE(TYPE_X, VKF_CROSS_ENTROPY_BINDING_GRADIENT, gradient)

const uint UNROLL = 8; // columns per iteration: long rows stay below lavapipe's limit of 65,535 iterations
const float LOWEST = -3.402823466e38; // where the maximum begins: finite, so that no difference is inf - inf

shared vec2 partial[LOCAL_SIZE]; // (maximum, sum of exp(logit - maximum))
shared float label_logit;

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint cols;
uint lane;
uint row_first;

// NaN for a logit that is NaN or +inf, whatever exp() makes of it on the device.
float weight(float logit, float maximum)
{
    return is_nan(logit) || floatBitsToUint(logit) == 0x7f800000u ? nan_value() : exp(logit - maximum);
}

float load_logit(uint col)
{
    return logits_load(row_first + min(col, cols - 1));
}

// A NaN compares false and leaves the maximum alone.
vec2 scan_row()
{
    float maximum = LOWEST;
    float sum = 0.0;
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        float values[UNROLL];
        float previous = maximum;
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            values[i] = load_logit(first + i * gl_WorkGroupSize.x);
            maximum = values[i] > maximum ? values[i] : maximum;
        }
        float part = 0.0; // summed apart, which rounds a long row's sum less often
        [[unroll]] for (uint i = 0; i < UNROLL; ++i)
            part += first + i * gl_WorkGroupSize.x < cols ? weight(values[i], maximum) : 0.0;
        sum = sum * exp(previous - maximum) + part;
    }
    return vec2(maximum, sum);
}

vec2 merged(vec2 a, vec2 b)
{
    float maximum = b.x > a.x ? b.x : a.x;
    return vec2(maximum, a.y * exp(a.x - maximum) + b.y * exp(b.x - maximum));
}

// The pair of the whole row, in every invocation.
vec2 merge_partials(vec2 own)
{
    partial[lane] = own;
    WORKGROUP_REDUCE(partial, merged)
    vec2 whole = partial[0];
    barrier(); // partial may be written again
    return whole;
}

// The sum over the row of logit - maximum.
float sum_below(float maximum)
{
    float sum = 0.0;
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        float part = 0.0;
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * gl_WorkGroupSize.x;
            part += col < cols ? load_logit(col) - maximum : 0.0;
        }
        sum += part;
    }
    partial[lane] = vec2(sum, 0.0);
    WORKGROUP_REDUCE(partial, SUM_OF)
    return partial[0].x;
}

void write_gradient(uint label, float maximum, float sum)
{
    float factor = p.factor, scale = factor / sum, spread = factor * (p.smoothing / float(cols));
    float own = factor * (1.0 - p.smoothing);
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * gl_WorkGroupSize.x;
            if (col < cols) {
                float value = weight(load_logit(col), maximum) * scale - spread;
                gradient_store(row_first + col, col == label ? value - own : value);
            }
        }
    }
}

void fill_gradient(float value)
{
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * gl_WorkGroupSize.x;
            if (col < cols)
                gradient_store(row_first + col, value);
        }
    }
}

// A row of which nothing but its label counts.
void settle_row(uint row, float value)
{
    if (lane == 0)
        loss_store(row, value);
    if (HAS_GRADIENT != 0)
        fill_gradient(value);
}

void measure_row(uint row, uint label)
{
    if (lane == 0)
        label_logit = load_logit(label);
    vec2 whole = merge_partials(scan_row());
    // A logit is NaN or +inf, or all are -inf. Some devices have a logarithm of NaN.
    if (is_nan(whole.y) || whole.y == 0.0) {
        settle_row(row, nan_value());
        return;
    }
    float below = p.smoothing != 0.0 ? sum_below(whole.x) / float(cols) : 0.0;
    if (lane == 0)
        loss_store(row, log(whole.y) - (1.0 - p.smoothing) * (label_logit - whole.x) - p.smoothing * below);
    if (HAS_GRADIENT != 0)
        write_gradient(label, whole.x, whole.y);
}

void main()
{
    uint row = group_index();
    if (row >= p.rows)
        return;
    cols = p.cols;
    lane = gl_LocalInvocationID.x;
    row_first = row * cols;
    int label = labels_load(row);
    if (label == p.ignored)
        settle_row(row, 0.0);
    else if (label < 0 || uint(label) >= cols)
        settle_row(row, nan_value());
    else
        measure_row(row, uint(label));
}

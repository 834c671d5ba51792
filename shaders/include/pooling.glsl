// What a column of a sequence is pooled to. Included behind the parameters `p`, x_load(), MODE and math.glsl.
#ifndef VKF_POOLING_GLSL
#define VKF_POOLING_GLSL

const uint UNROLL = 8; // positions per iteration: long sequences stay below lavapipe's limit of 65,535 iterations
const float LOWEST = -3.402823466e38;

// Tests the bits, for the reason that is_nan() gives.
bool is_finite(float value)
{
    return (floatBitsToUint(value) & 0x7f800000u) != 0x7f800000u;
}

// Keeps NaN, as PyTorch does; max() may drop it.
float combine(float a, float b)
{
    if (MODE == VKF_POOL_MAX)
        return is_nan(a) || is_nan(b) ? nan_value() : max(a, b);
    return a + b;
}

float weight(uint position)
{
    return MODE == VKF_POOL_WEIGHTED_MEAN ? float(position + 1) : 1.0;
}

// Over the positions p.first .. end of one column.
float reduce(uint at, uint end)
{
    float neutral = MODE == VKF_POOL_MAX ? LOWEST : 0.0;
    float total = neutral;
    for (uint first = p.first; first < end; first += UNROLL) {
        float part = neutral;
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint position = min(first + i, end - 1);
            float value = x_load(at + position * p.dim) * weight(position);
            part = combine(part, first + i < end ? value : neutral);
        }
        total = combine(total, part);
    }
    return total;
}

// The sum of all weights up to a position.
float weights_before(uint position)
{
    return 0.5 * float(position) * float(position + 1);
}

float pooled(uint at, uint length)
{
    if (length == 0)
        return 0.0;
    if (MODE == VKF_POOL_FIRST)
        return x_load(at + (p.first < length ? p.first * p.dim : 0));
    if (length <= p.first)
        return 0.0;
    if (MODE == VKF_POOL_LAST)
        return x_load(at + (length - 1) * p.dim);
    float total = reduce(at, length), count = float(length - p.first);
    if (MODE == VKF_POOL_MEAN)
        return total / count;
    if (MODE == VKF_POOL_WEIGHTED_MEAN)
        return total / (weights_before(length) - weights_before(p.first));
    return MODE == VKF_POOL_MEAN_SQRT ? total / sqrt(count) : total;
}

#endif

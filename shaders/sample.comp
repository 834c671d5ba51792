// Sampling from rows of logits; semantics in shared/sample.h. One workgroup per row; the local size is a power of two
// (the registry checks it).
//
// Nothing is sorted. Thresholds are found by radix selection over keys that have the order of the logits, eight bits
// per round, with a histogram of counts (top-k) or of probabilities (top-p); the drawn token is found in the same way
// by its index. Probabilities in histograms are integers, multiples of 2^-30, so that a sum does not depend on the
// order of its parts, and the same input gives the same token every time.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/sample.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"

layout(constant_id = VKF_SAMPLE_SPEC_HAS_SEEN) const uint HAS_SEEN = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_sample_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, seen_offset, out_offset; };

READ(TYPE_X, VKF_SAMPLE_BINDING_X, x)
layout(set = 0, binding = VKF_SAMPLE_BINDING_SEEN, std430) buffer seen_buffer { uint seen_data[]; };
WRITE(i32, VKF_SAMPLE_BINDING_OUT, out)

const uint UNROLL = 4; // columns per iteration: long rows stay below lavapipe's limit of 65,535 iterations
const uint BINS_PER_GROUP = VKF_SAMPLE_BINS / VKF_SAMPLE_BIN_GROUPS;
const float ONE = 1073741824.0; // of probability
const uint NO_TOKEN = 0xffffffffu; // -1
const uint KEY_LOWEST = 0x007fffffu, KEY_HIGHEST = 0xff800000u; // of -inf and +inf

shared uvec2 best[LOCAL_SIZE]; // (key, index)
shared float partial[LOCAL_SIZE];
shared uint bins[VKF_SAMPLE_BINS];
shared uint group_sums[VKF_SAMPLE_BIN_GROUPS];
shared uvec3 found; // (bin, sum of those before it, its own)

// Read once, ahead of any branch: lavapipe would gather parameters anew in each.
uint cols;
uint lane;
float temperature;
float min_p;
float penalty;
uint row_first;  // of the row's logits
uint seen_first; // of its words

uint own_key; // of the largest that the invocation saw; 0: it saw none
float peak;   // the row's largest logit
float scale;  // ONE over the sum of the weights

// As in argmax.comp: keys of numbers lie in 1 .. 0xff800000.
uint order_key(float value)
{
    uint bits = floatBitsToUint(value);
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return 0xffffffffu;
    if (magnitude == 0u)
        return 0x80000000u;
    return bits == magnitude ? bits | 0x80000000u : ~bits;
}

// The penalised logit, which must be the same in every pass, bit by bit.
float logit(uint col)
{
    precise float value = x_load(row_first + col);
    if (HAS_SEEN != 0 && (seen_data[seen_first + col / 32] >> (col % 32) & 1u) != 0u)
        value = value < 0.0 ? value * penalty : value / penalty;
    return value;
}

// A number proportional to the probability, and 1 for the largest.
float weight_of(float value)
{
    return value == peak ? 1.0 : exp(max((value - peak) / temperature, -100.0));
}

// The probability, in multiples of 2^-30.
uint mass_of(float value)
{
    return uint(weight_of(value) * scale + 0.5);
}

uvec2 better(uvec2 a, uvec2 b)
{
    return b.x > a.x || (b.x == a.x && b.y < a.y) ? b : a;
}

// (key, index) of the row's largest logit.
uvec2 largest()
{
    uvec2 own = uvec2(0u, 0xffffffffu);
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * gl_WorkGroupSize.x;
            uvec2 candidate = uvec2(order_key(logit(min(col, cols - 1))), col);
            // No column twice: rank_reached() counts what the invocations saw.
            own = col < cols ? better(own, candidate) : own;
        }
    }
    own_key = own.x;
    best[lane] = own;
    barrier();
    for (uint stride = gl_WorkGroupSize.x / 2; stride > 0; stride /= 2) {
        if (lane < stride)
            best[lane] = better(best[lane], best[lane + stride]);
        barrier();
    }
    return best[0];
}

// The sum of the weights of all logits whose rank is within the limit.
float weight_sum(uint rank_limit)
{
    float sum = 0.0;
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        float part = 0.0; // summed apart, which rounds a long row's sum less often
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * gl_WorkGroupSize.x;
            float value = logit(min(col, cols - 1));
            part += col < cols && ~order_key(value) <= rank_limit ? weight_of(value) : 0.0;
        }
        sum += part;
    }
    partial[lane] = sum;
    barrier();
    for (uint stride = gl_WorkGroupSize.x / 2; stride > 0; stride /= 2) {
        if (lane < stride)
            partial[lane] += partial[lane + stride];
        barrier();
    }
    return partial[0];
}

void clear_bins()
{
    for (uint i = lane; i < VKF_SAMPLE_BINS; i += gl_WorkGroupSize.x)
        bins[i] = 0u;
    barrier();
}

// The sum of all bins, after they were filled.
uint bins_total()
{
    barrier();
    if (lane < VKF_SAMPLE_BIN_GROUPS) {
        uint sum = 0u;
        [[unroll]] for (uint i = 0; i < BINS_PER_GROUP; ++i)
            sum += bins[lane * BINS_PER_GROUP + i];
        group_sums[lane] = sum;
    }
    barrier();
    uint total = 0u;
    [[unroll]] for (uint i = 0; i < VKF_SAMPLE_BIN_GROUPS; ++i)
        total += group_sums[i];
    return total;
}

// The first bin at which the running sum reaches `target`, the sum before it, and the bin's own. Called after
// bins_total().
uvec3 find_bin(uint target)
{
    if (lane == 0) {
        uint before = 0u, group = 0u;
        while (group < VKF_SAMPLE_BIN_GROUPS - 1 && before + group_sums[group] < target)
            before += group_sums[group++];
        uint bin = group * BINS_PER_GROUP, last = bin + BINS_PER_GROUP - 1;
        while (bin < last && before + bins[bin] < target)
            before += bins[bin++];
        found = uvec3(bin, before, bins[bin]);
    }
    barrier();
    return found;
}

// Adds each logit within the limit to the bin of its rank's digit, if the digits above are the prefix's. A rank is a
// key in reversed order: the largest logit has the lowest rank.
void fill_bins(uint rank_limit, uint shift, uint prefix, bool by_mass)
{
    uint above = shift == 24 ? 0u : 0xffffffffu << (shift + 8);
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint col = first + i * gl_WorkGroupSize.x;
            float value = logit(min(col, cols - 1));
            uint rank = ~order_key(value);
            if (col < cols && rank <= rank_limit && (rank & above) == prefix)
                atomicAdd(bins[rank >> shift & 0xffu], by_mass ? mass_of(value) : 1u);
        }
    }
}

// A rank that at least top_k logits reach: the top_k-th of the invocations' largest ones. Logits beyond it need not be
// put into bins, which are slow to fill.
uint rank_reached()
{
    if (p.top_k > gl_WorkGroupSize.x)
        return 0xffffffffu;
    barrier(); // all have read the largest
    best[lane].x = own_key;
    barrier();
    uint ahead = 0u;
    for (uint other = 0; other < gl_WorkGroupSize.x; other += UNROLL) {
        [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
            uint key = best[other + i].x;
            ahead += key > own_key || (key == own_key && other + i < lane) ? 1u : 0u;
        }
    }
    if (ahead == p.top_k - 1)
        found.x = ~own_key;
    barrier();
    return found.x;
}

// The rank at which the count of logits reaches top_k, or the sum of their probabilities top_p.
uint select_rank(uint rank_limit, bool by_mass)
{
    uint prefix = 0u, target = p.top_k;
    for (int shift = 24; shift >= 0; shift -= 8) {
        clear_bins();
        fill_bins(rank_limit, uint(shift), prefix, by_mass);
        uint total = bins_total();
        if (by_mass && shift == 24)
            target = clamp(uint(p.top_p * float(total)), 1u, total);
        uvec3 at = find_bin(target);
        target -= at.y;
        prefix |= at.x << uint(shift);
        if (target == at.z) // with all that the bin holds: the digits below make no difference
            return min(prefix | ((1u << uint(shift)) - 1u), rank_limit);
    }
    return prefix;
}

// The first word of Philox4x32-10. Its authors chose the multipliers, and the Weyl constants by which the key is
// raised.
uint random_word(uint row)
{
    uvec4 counter = uvec4(row, p.step, 0u, 0u);
    uvec2 key = uvec2(p.seed_low, p.seed_high);
    [[unroll]] for (uint i = 0; i < 10; ++i) {
        uint high_0, low_0, high_1, low_1;
        umulExtended(0xd2511f53u, counter.x, high_0, low_0);
        umulExtended(0xcd9e8d57u, counter.z, high_1, low_1);
        counter = uvec4(high_1 ^ counter.y ^ key.x, low_1, high_0 ^ counter.w ^ key.y, low_0);
        key += uvec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return counter.x;
}

// Puts into each bin the probability of `width` tokens between `begin` and `end`, as far as they stayed. An invocation
// fills whole bins, because neighbours would only wait for each other to add to the same one.
void fill_places(uint rank_limit, uint begin, uint end, uint width)
{
    for (uint bin = lane; bin < VKF_SAMPLE_BINS; bin += gl_WorkGroupSize.x) {
        uint first = begin + bin * width, last = min(first + width, end), sum = 0u;
        for (; first < last; first += UNROLL) {
            [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
                float value = logit(min(first + i, cols - 1));
                bool stays = first + i < last && ~order_key(value) <= rank_limit && weight_of(value) >= min_p;
                sum += stays ? mass_of(value) : 0u;
            }
        }
        bins[bin] = sum;
    }
}

// Narrows the candidates down to one token, by a factor of 256 each time.
uint draw(uint row, uint rank_limit)
{
    uint begin = 0u, end = cols, target = 0u;
    while (end - begin > 1) {
        uint width = (end - begin + VKF_SAMPLE_BINS - 1) / VKF_SAMPLE_BINS;
        barrier(); // all have read the bins
        fill_places(rank_limit, begin, end, width);
        uint total = bins_total();
        if (target == 0u) {
            uint low;
            umulExtended(random_word(row), total, target, low);
            target += 1u;
        }
        uvec3 at = find_bin(target);
        target -= at.y;
        begin += at.x * width;
        end = min(begin + width, end);
    }
    return begin;
}

uint sampled(uint row)
{
    uvec2 top = largest();
    if (top.x <= KEY_LOWEST || top.x >= KEY_HIGHEST)
        return NO_TOKEN;
    if (temperature == 0.0)
        return top.y;
    peak = logit(top.y);
    uint rank_limit = 0xffffffffu;
    if (p.top_k > 0u && p.top_k < cols)
        rank_limit = select_rank(rank_reached(), false);
    scale = ONE / weight_sum(rank_limit);
    if (p.top_p < 1.0)
        rank_limit = select_rank(rank_limit, true);
    return draw(row, rank_limit);
}

void main()
{
    uint row = group_index();
    if (row >= p.rows)
        return;
    cols = p.cols;
    lane = gl_LocalInvocationID.x;
    temperature = p.temperature;
    min_p = p.min_p;
    penalty = p.repetition_penalty;
    row_first = row * cols;
    uint words = (cols + 31) / 32;
    seen_first = seen_offset + row * words;
    uint token = sampled(row);
    barrier(); // all have read what was seen
    if (lane == 0) {
        out_store(row * p.out_stride + p.out_first, int(token));
        if (HAS_SEEN != 0 && token != NO_TOKEN)
            seen_data[seen_first + token / 32] |= 1u << (token % 32);
    }
}

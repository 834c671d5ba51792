// Sampling from rows of logits; semantics in shared/sample.h. One workgroup per row; the local size is a power of two
// (the registry checks it).
//
// Nothing is sorted. Thresholds are found by radix selection over keys that have the order of the logits, eight bits
// per round, with a histogram of counts (top-k) or of probabilities (top-p); the drawn token is found in the same way
// by its index.
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

const uint BINS = VKF_SAMPLE_BINS, BIN_GROUPS = VKF_SAMPLE_BIN_GROUPS;
#include "include/sampling.glsl"

uint own_key; // of the largest that the invocation saw; 0: it saw none

// (key, index) of the row's largest logit.
uvec2 largest()
{
    uvec2 own = own_largest(0u, cols);
    own_key = own.x;
    return best_of_all(own);
}

// The sum of the weights of all logits whose rank is within the limit.
float weight_sum(uint rank_limit)
{
    float sum = 0.0;
    for (uint first = lane; first < cols; first += UNROLL * gl_WorkGroupSize.x)
        sum += step_weights(first, rank_limit);
    return sum_of_all(sum);
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
        fill_bins(0u, cols, rank_limit, shift == 24 ? 0u : ~0u << (shift + 8), uint(shift), prefix, by_mass);
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

uint sampled(uint row)
{
    uvec2 top = largest();
    if (!is_number(top.x))
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
    return draw(row, rank_limit, 0u, cols, 0u);
}

void main()
{
    uint row = group_index();
    if (row >= p.rows)
        return;
    read_params(row);
    uint token = sampled(row);
    barrier(); // all have read what was seen
    if (lane == 0)
        give_token(row, token);
}

// Sampling from long rows of logits; semantics in shared/sample.h. It goes as in sample.comp, but many workgroups share
// a row, because one core reads it, and adds to its histograms, slowly. A dispatch runs one phase. The next one merges
// what it left behind: each workgroup does so for itself, and the first of a row keeps the result for the phase after
// that. The local size is a power of two (the registry checks it).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/sample.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"

layout(constant_id = VKF_SAMPLE_SPEC_HAS_SEEN) const uint HAS_SEEN = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_sample_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, seen_offset, out_offset, state_offset; };

READ(TYPE_X, VKF_SAMPLE_BINDING_X, x)
layout(set = 0, binding = VKF_SAMPLE_BINDING_SEEN, std430) buffer seen_buffer { uint seen_data[]; };
WRITE(i32, VKF_SAMPLE_BINDING_OUT, out)
layout(set = 0, binding = VKF_SAMPLE_BINDING_STATE, std430) buffer state_buffer { uint state_data[]; };

const uint BINS = VKF_SAMPLE_PARTS_BINS, BIN_GROUPS = VKF_SAMPLE_PARTS_BIN_GROUPS;
#include "include/sampling.glsl"

uint state_first; // of the row's words
uint part, begin, end; // the workgroup's part of the row, and its columns

// What is known when a phase begins, but for scale:
uvec2 top;       // (key, index) of the row's largest logit
uint rank_limit; // of the tokens that stay
uint prefix;     // of the threshold's rank, while it is looked for
uint target;     // how much is to be reached among the ranks with this prefix
bool settled;    // the threshold is found ahead of its last round

// The lowest bit of a round's digit of the rank, and the bits above that digit.
uint round_shift(uint number)
{
    return number == 0u ? 21u : number == 1u ? 10u : 0u;
}

uint round_above(uint number)
{
    return number == 0u ? 0u : ~0u << round_shift(number - 1u);
}

// The number, among the phases that look for a threshold, of one of them; and that of its round.
uint histogram_of(uint phase)
{
    return phase < VKF_SAMPLE_PHASE_SUM ? phase - VKF_SAMPLE_PHASE_COUNT
                                        : phase - VKF_SAMPLE_PHASE_MASS + VKF_SAMPLE_ROUNDS;
}

uint round_of(uint phase)
{
    return histogram_of(phase) % VKF_SAMPLE_ROUNDS;
}

uint bins_first(uint phase)
{
    return state_first + VKF_SAMPLE_BINS_AT(p.parts) + histogram_of(phase) * BINS;
}

void leave_peak()
{
    uvec2 own = best_of_all(own_largest(begin, end));
    if (lane == 0) {
        state_data[state_first + VKF_SAMPLE_BEST_AT + 2 * part] = own.x;
        state_data[state_first + VKF_SAMPLE_BEST_AT + 2 * part + 1] = own.y;
    }
    if (temperature == 0.0)
        return;
    // Histograms are added to by all workgroups, so they begin empty.
    uint count = 2 * VKF_SAMPLE_ROUNDS * BINS, first = state_first + VKF_SAMPLE_BINS_AT(p.parts);
    for (uint i = part * gl_WorkGroupSize.x + lane; i < count; i += p.parts * gl_WorkGroupSize.x)
        state_data[first + i] = 0u;
}

void merge_peaks()
{
    uvec2 own = uvec2(0u, 0xffffffffu);
    for (uint i = lane; i < p.parts; i += gl_WorkGroupSize.x) {
        uint at = state_first + VKF_SAMPLE_BEST_AT + 2 * i;
        own = better(own, uvec2(state_data[at], state_data[at + 1]));
    }
    top = best_of_all(own);
    rank_limit = 0xffffffffu;
    prefix = 0u;
    target = p.top_k;
    settled = false;
}

// Invocation and order of the iterations are those of a workgroup that takes the whole row, so the sum is rounded as
// there.
void merge_sums()
{
    uint first = state_first + VKF_SAMPLE_SUMS_AT(p.parts) + lane;
    uint iterations = (cols + UNROLL * gl_WorkGroupSize.x - 1) / (UNROLL * gl_WorkGroupSize.x);
    float sum = 0.0;
    for (uint i = 0; i < iterations; i += UNROLL) {
        float loaded[UNROLL];
        [[unroll]] for (uint j = 0; j < UNROLL; ++j)
            loaded[j] = uintBitsToFloat(state_data[first + min(i + j, iterations - 1) * gl_WorkGroupSize.x]);
        [[unroll]] for (uint j = 0; j < UNROLL; ++j)
            sum += i + j < iterations ? loaded[j] : 0.0;
    }
    scale = ONE / sum_of_all(sum);
    prefix = 0u;
    settled = false;
}

void merge_bins(uint phase)
{
    uint number = round_of(phase), shift = round_shift(number);
    for (uint i = lane; i < BINS; i += gl_WorkGroupSize.x)
        bins[i] = state_data[bins_first(phase) + i];
    uint total = bins_total();
    if (phase == VKF_SAMPLE_PHASE_MASS)
        target = clamp(uint(p.top_p * float(total)), 1u, total);
    uvec3 at = find_bin(target);
    target -= at.y;
    prefix |= at.x << shift;
    // With all that the bin holds the digits below make no difference.
    settled = target == at.z;
    if (settled || number == VKF_SAMPLE_ROUNDS - 1)
        rank_limit = min(prefix | ((1u << shift) - 1u), rank_limit);
}

uint slot_first(uint phase)
{
    return state_first + phase * VKF_SAMPLE_SLOT;
}

void read_slot(uint phase)
{
    uint at = slot_first(phase);
    top = uvec2(state_data[at], state_data[at + 1]);
    rank_limit = state_data[at + 2];
    prefix = state_data[at + 3];
    target = state_data[at + 4];
    settled = state_data[at + 5] != 0u;
    scale = uintBitsToFloat(state_data[at + 6]);
}

void write_slot(uint phase)
{
    uint at = slot_first(phase);
    state_data[at] = top.x;
    state_data[at + 1] = top.y;
    state_data[at + 2] = rank_limit;
    state_data[at + 3] = prefix;
    state_data[at + 4] = target;
    state_data[at + 5] = settled ? 1u : 0u;
    state_data[at + 6] = floatBitsToUint(scale);
}

// Sets what is known after a phase. False: the row has no token.
bool merge(uint phase)
{
    if (phase == VKF_SAMPLE_PHASE_PEAK)
        merge_peaks();
    else
        read_slot(phase);
    if (!is_number(top.x))
        return false;
    peak = logit(top.y);
    if (phase == VKF_SAMPLE_PHASE_SUM)
        merge_sums();
    else if (phase != VKF_SAMPLE_PHASE_PEAK && phase != VKF_SAMPLE_PHASE_PLACE && !settled)
        merge_bins(phase);
    return true;
}

void leave_bins(uint phase)
{
    uint number = round_of(phase);
    if (settled)
        return;
    clear_bins();
    fill_bins(begin, end, rank_limit, round_above(number), round_shift(number), prefix, phase >= VKF_SAMPLE_PHASE_MASS);
    barrier();
    for (uint i = lane; i < BINS; i += gl_WorkGroupSize.x)
        if (bins[i] > 0u)
            atomicAdd(state_data[bins_first(phase) + i], bins[i]);
}

void leave_sums()
{
    uint at = state_first + VKF_SAMPLE_SUMS_AT(p.parts) + begin / UNROLL;
    for (uint first = begin; first < end; first += UNROLL * gl_WorkGroupSize.x, at += gl_WorkGroupSize.x)
        state_data[at + lane] = floatBitsToUint(step_weights(first + lane, rank_limit));
}

void leave_place()
{
    uint sum = 0u;
    for (uint first = begin + lane; first < end; first += UNROLL * gl_WorkGroupSize.x)
        [[unroll]] for (uint i = 0; i < UNROLL; ++i)
            sum += place_mass(first + i * gl_WorkGroupSize.x, end, rank_limit);
    if (lane == 0)
        group_sums[0] = 0u;
    barrier();
    atomicAdd(group_sums[0], sum);
    barrier();
    if (lane == 0)
        state_data[state_first + VKF_SAMPLE_PLACES_AT(p.parts) + part] = group_sums[0];
}

uint chosen(uint row)
{
    if (temperature == 0.0)
        return top.y;
    for (uint i = lane; i < BINS; i += gl_WorkGroupSize.x)
        bins[i] = i < p.parts ? state_data[state_first + VKF_SAMPLE_PLACES_AT(p.parts) + i] : 0u;
    uint place = drawn_place(row, bins_total());
    uvec3 at = find_bin(place);
    uint first = at.x * p.part_cols;
    return draw(row, rank_limit, first, min(first + p.part_cols, cols), place - at.y);
}

void choose(uint row, bool has_token)
{
    uint token = NO_TOKEN;
    if (has_token)
        token = chosen(row);
    barrier(); // all have read what was seen
    if (lane == 0)
        give_token(row, token);
}

void main()
{
    uint phase = p.phase, parts = phase == VKF_SAMPLE_PHASE_CHOOSE ? 1u : p.parts;
    uint row = group_index() / parts;
    if (row >= p.rows)
        return;
    read_params(row);
    part = group_index() - row * parts;
    begin = part * p.part_cols;
    end = min(begin + p.part_cols, cols);
    state_first = state_offset + row * VKF_SAMPLE_STATE_WORDS(p.parts, p.part_cols);
    if (phase == VKF_SAMPLE_PHASE_PEAK) {
        leave_peak();
        return;
    }
    bool has_token = merge(p.previous);
    if (phase == VKF_SAMPLE_PHASE_CHOOSE) {
        choose(row, has_token);
        return;
    }
    if (part == 0 && lane == 0)
        write_slot(phase);
    if (!has_token)
        return;
    if (phase == VKF_SAMPLE_PHASE_SUM)
        leave_sums();
    else if (phase == VKF_SAMPLE_PHASE_PLACE)
        leave_place();
    else
        leave_bins(phase);
}

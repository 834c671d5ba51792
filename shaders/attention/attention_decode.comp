// Attention of few queries over many keys, as in decoding; semantics in shared/attention.h.
//
// A workgroup takes ROWS rows (queries) of a key head. LANES invocations of a subgroup share a key: each holds every
// LANES-th vector of 16 bytes of it, and of the queries and the sums, and they add up their products by shuffles. A
// workgroup has SLOTS such groups, each with a running softmax of its own over every SLOTS-th key; KEYS of them are
// loaded, with their values, before the first is used. There is no barrier until the slots are put together: those of
// a subgroup by shuffles, and what comes of them through shared memory, as many rows at once as a subgroup has slots.
//
// Invariants (the registry checks them): LANES is a power of two and no more than the smallest subgroup; the largest
// divides the local size, so that all subgroups are full; ROWS <= VKF_ATTENTION_DECODE_MAX_ROWS. Keys and values are
// read by vectors alone: rows, heads and entries of the batch begin at multiples of 16 bytes, and a width is a multiple
// of 16 bytes. Queries: in quads. Shared memory: 4 * SLOTS * (2 * VKF_ATTENTION_DECODE_MAX_ROWS + widest head) bytes.
// With splits > 1, PARTIAL is set and out is f32. The kernel that joins the parts itself (ATTENTION_DECODE_JOINED) has
// 4 bytes more, and its out is what it is otherwise. Grid: in any fold of two dimensions, ceil(q_len * heads / kv_heads
// / ROWS) * splits * kv_heads * batch workgroups.
//
// With FRESH fresh keys have steps of their own after all others. In these the lanes of a slot make a key and its value
// in the place of loading them, so that nothing waits for another workgroup or for a barrier. The workgroup of a key
// head's first rows writes them to k and v, where nobody reads them in the same dispatch.
//
// Which keys are visited, and what becomes of those that one row sees and another does not, is as in attention_tiled.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "include/vectors.glsl"
#include "include/q8_rows.glsl"
#include "shared/attention.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"

layout(constant_id = VKF_ATTENTION_SPEC_KEYS) const uint KEYS = 4;
layout(constant_id = VKF_ATTENTION_SPEC_SPLIT_LANES) const uint LANES = 16;
layout(constant_id = VKF_ATTENTION_SPEC_HEAD_DIM) const uint HEAD_DIM = 128;
layout(constant_id = VKF_ATTENTION_SPEC_V_HEAD_DIM) const uint V_HEAD_DIM = 128;
layout(constant_id = VKF_ATTENTION_SPEC_MASK_KIND) const uint MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_SPEC_KEY_MASK_KIND) const uint KEY_MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_SPEC_CAUSAL) const uint CAUSAL = 0;
layout(constant_id = VKF_ATTENTION_SPEC_WINDOW) const uint WINDOW = 0;
layout(constant_id = VKF_ATTENTION_SPEC_SCORE_FORM) const uint SCORE_FORM = 0;
layout(constant_id = VKF_ATTENTION_SPEC_FULLY_MASKED) const uint FULLY_MASKED = 0;
layout(constant_id = VKF_ATTENTION_SPEC_PARTIAL) const uint PARTIAL = 0;
layout(constant_id = VKF_ATTENTION_DECODE_SPEC_ROWS) const uint ROWS = 4;
#if SAME_TYPE(TYPE_KV, q8)
const uint FRESH = 0; // blocks are not made here
#else
layout(constant_id = VKF_ATTENTION_DECODE_SPEC_FRESH) const uint FRESH = 0;
#endif

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_params p; };
layout(push_constant) uniform offsets_block {
    uint q_offset, k_offset, v_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset;
#if !SAME_TYPE(TYPE_KV, q8)
    uint table_offset;
#endif
#ifdef ATTENTION_DECODE_JOINED
    uint part_offset, counter_offset;
#endif
};

READ_QUADS(TYPE_Q, VKF_ATTENTION_BINDING_Q, q)
READ_VECTORS(TYPE_KV, VKF_ATTENTION_BINDING_K, k)
READ_VECTORS(TYPE_KV, VKF_ATTENTION_BINDING_V, v)
WRITE(TYPE_OUT, VKF_ATTENTION_BINDING_OUT, out)
READ(bytes, VKF_ATTENTION_BINDING_MASK, mask)
READ(bytes, VKF_ATTENTION_BINDING_KEY_MASK, key_mask)

#ifdef ATTENTION_DECODE_JOINED
layout(set = 0, binding = VKF_ATTENTION_BINDING_PARTS, std430) coherent buffer part_buffer { float part_data[]; };
layout(set = 0, binding = VKF_ATTENTION_BINDING_COUNTERS, std430) coherent buffer counter_buffer {
    uint counter_data[];
};

float part_load(uint i)
{
    return part_data[part_offset + i];
}

void part_store(uint i, float value)
{
    part_data[part_offset + i] = value;
}
#define PART_STORE part_store
#else
#define PART_STORE out_store
#endif

#define SLOPES_BINDING VKF_ATTENTION_BINDING_SLOPES
#define SINKS_BINDING VKF_ATTENTION_BINDING_SINKS
#include "include/mask.glsl"

const uint VECTOR = VECTOR_ELEMENTS(TYPE_KV);
const uint VECTOR_QUADS = VECTOR / 4;
const uint SLOTS = LOCAL_SIZE / LANES;
const uint VECTORS = HEAD_DIM / VECTOR;
const uint V_VECTORS = V_HEAD_DIM / VECTOR;
const bool ALL_LANES = VECTORS % LANES == 0; // have as many of them
const uint LANE_VECTORS = (VECTORS + LANES - 1) / LANES;
const uint V_LANE_VECTORS = (V_VECTORS + LANES - 1) / LANES;
const uint LANE_QUADS = LANE_VECTORS * VECTOR_QUADS;
const uint V_LANE_QUADS = V_LANE_VECTORS * VECTOR_QUADS;
const uint V_QUADS = V_HEAD_DIM / 4;
const uint STEP_KEYS = SLOTS * KEYS;
const uint PART_STRIDE = V_HEAD_DIM + 2;
#define PART_WIDTH V_HEAD_DIM

shared float subgroup_maxima[ROWS * SLOTS];
shared float subgroup_totals[ROWS * SLOTS];
shared vec4 subgroup_sums[SLOTS * V_QUADS]; // of slots_together() rows

#define BLOCK_ROWS ROWS
#include "include/attention_work.glsl"

uint k_first, v_first; // elements at which the key head begins
vec4 query[ROWS * LANE_QUADS];
vec4 sums[ROWS * V_LANE_QUADS]; // of weighted values, relative to maximum
float maximum[ROWS];
float total[ROWS];
uvec4 keys[KEYS * LANE_VECTORS]; // of a step
uvec4 values[KEYS * V_LANE_VECTORS];
float scores[ROWS * KEYS]; // then weights

uint lane()
{
    return gl_SubgroupInvocationID % LANES;
}

// Slots of a subgroup. gl_SubgroupSize would not tell: where compilers choose among sizes it may be the largest.
uint slots_together()
{
    return SLOTS / gl_NumSubgroups;
}

uint slot()
{
    return gl_SubgroupID * slots_together() + gl_SubgroupInvocationID / LANES;
}

// Vector c of a lane; beyond a row's last vector it is zeros.
uvec4 fetch_key(uint key, uint c)
{
    uint vector = lane() + LANES * c;
    uvec4 value = k_load_vector(k_first + key * p.k_row + (ALL_LANES ? vector : min(vector, VECTORS - 1)) * VECTOR);
    return ALL_LANES || vector < VECTORS ? value : uvec4(0);
}

// Beyond a row's last vector the sums are never stored.
uvec4 fetch_value(uint key, uint c)
{
    return v_load_vector(v_first + key * p.v_row + min(lane() + LANES * c, V_VECTORS - 1) * VECTOR);
}

#include "include/fresh_keys.glsl"

void start(work w)
{
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        row_view view = view_row(w, w.first_row + r);
        uint first = w.b * p.q_batch + view.l * p.q_row + view.h * p.q_head;
        vec2 begun = start_softmax(view.h, w.split == 0 && slot() == 0);
        maximum[r] = begun.x;
        total[r] = begun.y;
        [[unroll]] for (uint i = 0; i < LANE_QUADS; ++i) {
            uint col = ((i / VECTOR_QUADS * LANES + lane()) * VECTOR_QUADS + i % VECTOR_QUADS) * 4;
            vec4 value = load_query(first, ALL_LANES ? col : min(col, HEAD_DIM - 4), view.l);
            query[r * LANE_QUADS + i] = ALL_LANES || col < HEAD_DIM ? value : vec4(0.0);
        }
        [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i)
            sums[r * V_LANE_QUADS + i] = vec4(0.0);
    }
}

// Adds up the products of the slot's lanes.
float add_lanes(float value)
{
    [[unroll]] for (uint distance = LANES / 2; distance > 0; distance /= 2)
        value += subgroupShuffleXor(value, distance);
    return value;
}

void load_keys_and_values(uint first, uint end)
{
    [[unroll]] for (uint j = 0; j < KEYS; ++j) {
        uint key = clamp_key(first + slot() + SLOTS * j, end);
        [[unroll]] for (uint c = 0; c < LANE_VECTORS; ++c)
            keys[j * LANE_VECTORS + c] = fetch_key(key, c);
        [[unroll]] for (uint c = 0; c < V_LANE_VECTORS; ++c)
            values[j * V_LANE_VECTORS + c] = fetch_value(key, c);
    }
}

// The scores of the slot's keys, first + slot + SLOTS * j.
void score_keys()
{
    [[unroll]] for (uint i = 0; i < ROWS * KEYS; ++i)
        scores[i] = 0.0;
    [[unroll]] for (uint j = 0; j < KEYS; ++j) {
        [[unroll]] for (uint i = 0; i < LANE_QUADS; ++i) {
            vec4 key = k_quad(keys[j * LANE_VECTORS + i / VECTOR_QUADS], i % VECTOR_QUADS);
            [[unroll]] for (uint r = 0; r < ROWS; ++r) {
                [[unroll]] for (uint c = 0; c < 4; ++c)
                    scores[r * KEYS + j] += query[r * LANE_QUADS + i][c] * key[c];
            }
        }
    }
    [[unroll]] for (uint i = 0; i < ROWS * KEYS; ++i)
        scores[i] = cap_score(add_lanes(scores[i]) * p.scale);
}

// Whether masks change scores of columns that the workgroup visits. Of a single query the walk visits no hidden ones.
bool has_masks()
{
    bool lengths = KEY_MASK_KIND == VKF_SHADER_MASK_NONE || KEY_MASK_KIND == VKF_SHADER_MASK_LENGTHS;
    return MASK_KIND != VKF_SHADER_MASK_NONE || !lengths || SLOPED || p.q_len > 1;
}

void mask_scores(work w, uint first, uint end, bool masked)
{
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        [[unroll]] for (uint j = 0; j < KEYS; ++j) {
            uint key = first + slot() + SLOTS * j;
            float score = scores[r * KEYS + j];
            if (masked)
                score = mask_score(view_row(w, w.first_row + r).mask, clamp_key(key, end), score);
            scores[r * KEYS + j] = key < end ? score : MASKED;
        }
    }
}

// The same as weight(), without a branch for each score.
float weight_of(float score, float highest)
{
    uint bits = floatBitsToUint(score);
    bool infinite = bits == 0x7f800000u, broken = is_nan(score);
    float weight = exp(score - highest);
    weight = is_masked(score) ? 0.0 : weight;
    broken = broken || infinite;
    return broken ? nan_value() : weight;
}

// Turns scores into weights, and brings the sums to the new maximum. A NaN score compares false and leaves the maximum
// alone.
void weigh_keys()
{
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        float previous = maximum[r];
        [[unroll]] for (uint j = 0; j < KEYS; ++j) {
            float score = scores[r * KEYS + j];
            maximum[r] = score > maximum[r] ? score : maximum[r];
        }
        float rescale = exp(previous - maximum[r]);
        total[r] *= rescale;
        [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i)
            sums[r * V_LANE_QUADS + i] *= rescale;
        [[unroll]] for (uint j = 0; j < KEYS; ++j) {
            scores[r * KEYS + j] = weight_of(scores[r * KEYS + j], maximum[r]);
            total[r] += scores[r * KEYS + j];
        }
    }
}

void add_values()
{
    [[unroll]] for (uint j = 0; j < KEYS; ++j) {
        [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i) {
            vec4 value = v_quad(values[j * V_LANE_VECTORS + i / VECTOR_QUADS], i % VECTOR_QUADS);
            [[unroll]] for (uint r = 0; r < ROWS; ++r)
                sums[r * V_LANE_QUADS + i] += scores[r * KEYS + j] * value;
        }
    }
}

// The steps of the workgroup over the visible keys: columns under the masks, those after them, and fresh keys.
struct walk {
    uvec2 range; // of columns
    uint masked_steps;
    uint fresh_step; // the first
    uint begin, end;
};

walk view_walk(work w)
{
    walk v;
    v.range = visible_columns(view_row(w, w.first_row).mask, view_row(w, w.first_row + ROWS - 1).mask);
    if (FRESH != 0)
        v.range = min(v.range, uvec2(p.fresh_first));
    v.masked_steps = (v.range.y - v.range.x + STEP_KEYS - 1) / STEP_KEYS;
    v.fresh_step = v.masked_steps + (p.k_len - p.mask_cols + STEP_KEYS - 1) / STEP_KEYS;
    uint steps = v.fresh_step + (FRESH != 0 ? (p.q_len + SLOTS - 1) / SLOTS : 0);
    v.begin = split_begin(steps, w.split);
    v.end = split_begin(steps, w.split + 1);
    return v;
}

bool is_fresh(walk v, uint step)
{
    return FRESH != 0 && step >= v.fresh_step;
}

// The first key of a step, and the end of those that it may visit.
uvec2 step_keys(walk v, uint step)
{
    if (is_fresh(v, step)) {
        uint first = p.fresh_first + (step - v.fresh_step) * SLOTS;
        return uvec2(first, min(first + SLOTS, p.k_len));
    }
    if (step < v.masked_steps)
        return uvec2(v.range.x + step * STEP_KEYS, v.range.y);
    return uvec2(p.mask_cols + (step - v.masked_steps) * STEP_KEYS, p.k_len);
}

// Unless there is none, or its keys are fresh.
void load_step(walk v, uint step)
{
    if (step < v.end && !is_fresh(v, step)) {
        uvec2 visited = step_keys(v, step);
        load_keys_and_values(visited.x, visited.y);
    }
}

// The first keys are on their way together with the queries.
void attend(work w, walk v)
{
    load_step(v, v.begin);
    start(w);
    for (uint step = v.begin; step < v.end; ++step) {
        uvec2 visited = step_keys(v, step);
        if (is_fresh(v, step))
            make_keys_and_values(w, visited.x, visited.y);
        score_keys();
        mask_scores(w, visited.x, visited.y, (has_masks() && step < v.masked_steps) || is_fresh(v, step));
        weigh_keys();
        add_values();
        load_step(v, step + 1);
    }
}

// Sets maximum and total to those of the subgroup, brings the sums of the slot to that maximum, and shares both.
void join_totals()
{
    float previous[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r)
        previous[r] = maximum[r];
    for (uint distance = LANES; distance < LANES * slots_together(); distance *= 2) {
        [[unroll]] for (uint r = 0; r < ROWS; ++r)
            maximum[r] = max(maximum[r], subgroupShuffleXor(maximum[r], distance));
    }
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        float rescale = exp(previous[r] - maximum[r]);
        total[r] *= rescale;
        [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i)
            sums[r * V_LANE_QUADS + i] *= rescale;
    }
    for (uint distance = LANES; distance < LANES * slots_together(); distance *= 2) {
        [[unroll]] for (uint r = 0; r < ROWS; ++r)
            total[r] += subgroupShuffleXor(total[r], distance);
    }
    if (gl_SubgroupInvocationID == 0) {
        [[unroll]] for (uint r = 0; r < ROWS; ++r) {
            subgroup_maxima[r * SLOTS + gl_SubgroupID] = maximum[r];
            subgroup_totals[r * SLOTS + gl_SubgroupID] = total[r];
        }
    }
}

// Whether the workgroup has seen no key of a row. A total is 0, at least 1, or NaN.
bool is_hidden(uint r)
{
    bool hidden = true;
    for (uint g = 0; g < gl_NumSubgroups; ++g)
        hidden = hidden && subgroup_totals[r * SLOTS + g] == 0.0;
    return hidden;
}

// Sets the sums of a fully masked row to the sums of all values in the split.
void add_all_values(work w)
{
    bool needed = false;
    bool hidden[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        hidden[r] = is_hidden(r);
        needed = needed || hidden[r];
        [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i)
            sums[r * V_LANE_QUADS + i] = hidden[r] ? vec4(0.0) : sums[r * V_LANE_QUADS + i];
    }
    uint end = needed ? split_begin(p.k_len, w.split + 1) : 0;
    for (uint key = split_begin(p.k_len, w.split) + slot(); key < end; key += SLOTS) {
        [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i) {
            vec4 value = v_quad(fetch_any_value(w, key, i / VECTOR_QUADS), i % VECTOR_QUADS);
            [[unroll]] for (uint r = 0; r < ROWS; ++r)
                sums[r * V_LANE_QUADS + i] += hidden[r] ? value : vec4(0.0);
        }
    }
}

void join_sums()
{
    for (uint distance = LANES; distance < LANES * slots_together(); distance *= 2) {
        [[unroll]] for (uint i = 0; i < ROWS * V_LANE_QUADS; ++i)
            sums[i] += subgroupShuffleXor(sums[i], distance);
    }
}

// Each slot of a subgroup shares one of the rows from `begin` on.
void share_sums(uint begin)
{
    uint own = gl_SubgroupInvocationID / LANES, first = (own * gl_NumSubgroups + gl_SubgroupID) * V_QUADS;
    [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i) {
        uint vector = lane() + LANES * (i / VECTOR_QUADS);
        vec4 chosen = sums[i];
        [[unroll]] for (uint r = 1; r < ROWS; ++r)
            chosen = mix(chosen, sums[r * V_LANE_QUADS + i], bvec4(r == begin + own));
        if (begin + own < ROWS && (V_VECTORS % LANES == 0 || vector < V_VECTORS))
            subgroup_sums[first + vector * VECTOR_QUADS + i % VECTOR_QUADS] = chosen;
    }
}

// What all subgroups have for a column of a row.
struct column {
    float value;
    float maximum;
    float total;
};

column join_subgroups(uint begin, uint r, uint col)
{
    column all = column(0.0, LOWEST, 0.0);
    for (uint g = 0; g < gl_NumSubgroups; ++g)
        all.maximum = max(all.maximum, subgroup_maxima[r * SLOTS + g]);
    for (uint g = 0; g < gl_NumSubgroups; ++g) {
        float factor = exp(subgroup_maxima[r * SLOTS + g] - all.maximum);
        all.total += subgroup_totals[r * SLOTS + g] * factor;
        all.value += subgroup_sums[((r - begin) * gl_NumSubgroups + g) * V_QUADS + col / 4][col % 4] * factor;
    }
    if (is_nan(all.total))
        all.value = nan_value();
    return all;
}

void store_column(work w, uint r, uint col, column all)
{
    row_view view = view_row(w, w.first_row + r);
    bool hidden = all.total == 0.0;
    float value = all.value / (hidden ? 1.0 : all.total);
    if (hidden && FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM)
        value = all.value / float(p.k_len);
    else if (hidden)
        value = FULLY_MASKED == VKF_SHADER_FULLY_MASKED_NAN ? nan_value() : 0.0;
    out_store(w.b * p.out_batch + view.l * p.out_row + view.h * p.out_head + col, value);
}

// The first of a row's parts.
uint first_part(work w, uint row)
{
    row_view view = view_row(w, row);
    return ((w.b * p.heads + view.h) * p.q_len + view.l) * p.splits * PART_STRIDE;
}

void store_part(work w, uint r, uint col, column all)
{
    uint first = first_part(w, w.first_row + r) + w.split * PART_STRIDE;
    PART_STORE(first + col, all.value);
    if (col == 0) {
        PART_STORE(first + V_HEAD_DIM, all.maximum);
        PART_STORE(first + V_HEAD_DIM + 1, all.total);
    }
}

// Stores rows begin to end - 1, which are shared.
void store_rows(work w, uint begin, uint end)
{
    for (uint at = gl_LocalInvocationID.x; at < (end - begin) * V_HEAD_DIM; at += LOCAL_SIZE) {
        uint r = begin + at / V_HEAD_DIM, col = at % V_HEAD_DIM;
        column all = join_subgroups(begin, r, col);
        if (PARTIAL != 0)
            store_part(w, r, col, all);
        else
            store_column(w, r, col, all);
    }
}

void join_slots(work w)
{
    uint rows = min(ROWS, row_count() - w.first_row);
    join_totals();
    if (FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM) {
        barrier();
        add_all_values(w);
    }
    join_sums();
    for (uint begin = 0; begin < rows; begin += slots_together()) {
        if (begin > 0)
            barrier();
        share_sums(begin);
        barrier();
        store_rows(w, begin, min(begin + slots_together(), rows));
    }
}

#ifdef ATTENTION_DECODE_JOINED
#include "include/last_workgroup.glsl"
#endif

void main()
{
    work w = view_work(group_index());
    if (w.b >= p.batch)
        return;
    walk v = view_walk(w);
    k_first = w.b * p.k_batch + w.kv_head * p.k_head;
    v_first = w.b * p.v_batch + w.kv_head * p.v_head;
    attend(w, v);
    join_slots(w);
#ifdef ATTENTION_DECODE_JOINED
    if (is_last_workgroup(w))
        join_parts(w);
#endif
}

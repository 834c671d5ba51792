// Attention of few queries over many keys, as in decoding; semantics in shared/attention.h.
//
// A workgroup takes ROWS rows (queries) of a key head. LANES invocations of a subgroup share a key: each holds every
// LANES-th vector of 16 bytes of it, and of the queries and the sums, and they add up their products by shuffles. A
// workgroup has SLOTS such groups, each with a running softmax of its own over every SLOTS-th key; KEYS of them are
// loaded, with their values, before the first is used. There is no barrier until the slots are put together.
//
// Invariants (the registry checks them): LANES is a power of two, divides the local size and is no more than the
// smallest subgroup; ROWS <= VKF_ATTENTION_DECODE_MAX_ROWS. Keys and values are read by vectors alone: rows, heads and
// entries of the batch begin at multiples of 16 bytes, and a width is a multiple of 16 bytes. Queries: in quads.
// Shared memory: 4 * SLOTS * (2 * VKF_ATTENTION_DECODE_MAX_ROWS + widest head) bytes, FRESH keys and values, and 16
// bytes that stand for them where there are none. With splits > 1, PARTIAL is set and out is f32. The kernel that joins
// the parts itself (ATTENTION_DECODE_JOINED) has 4 bytes more, and its out is what it is otherwise.
// Grid: in any fold of two dimensions, ceil(q_len * heads / kv_heads / ROWS) * splits * kv_heads * batch workgroups.
//
// With FRESH, which is the most fresh keys that there are, a workgroup that visits some of them makes them for itself,
// so that none waits for another; a barrier stands behind that. One of those of a key head writes them to k and v,
// where nobody reads them in the same dispatch.
//
// Which keys are visited, and what becomes of those that one row sees and another does not, is as in attention_tiled.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

#include "include/vectors.glsl"
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
layout(constant_id = VKF_ATTENTION_SPEC_FULLY_MASKED) const uint FULLY_MASKED = 0;
layout(constant_id = VKF_ATTENTION_SPEC_PARTIAL) const uint PARTIAL = 0;
layout(constant_id = VKF_ATTENTION_DECODE_SPEC_ROWS) const uint ROWS = 4;
layout(constant_id = VKF_ATTENTION_DECODE_SPEC_FRESH) const uint FRESH = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_params p; };
layout(push_constant) uniform offsets_block {
    uint q_offset, k_offset, v_offset, out_offset, mask_offset, key_mask_offset, table_offset;
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
READ_QUADS(f32, VKF_ATTENTION_BINDING_TABLE, table)
layout(set = 0, binding = VKF_ATTENTION_BINDING_K, std430) writeonly buffer k_kept_buffer { uvec4 k_kept[]; };
layout(set = 0, binding = VKF_ATTENTION_BINDING_V, std430) writeonly buffer v_kept_buffer { uvec4 v_kept[]; };

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

shared float slot_maxima[ROWS * SLOTS];
shared float slot_totals[ROWS * SLOTS];
shared vec4 slot_sums[SLOTS * V_QUADS]; // of one row

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

// Subgroups are filled in their order, so that slots are numbered without gaps.
uint slot()
{
    return (gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID) / LANES;
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
        maximum[r] = LOWEST;
        total[r] = 0.0;
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

// The same in a step with fresh keys.
void load_fresh_keys_and_values(uint first, uint end)
{
    [[unroll]] for (uint j = 0; j < KEYS; ++j) {
        uint key = clamp_key(first + slot() + SLOTS * j, end);
        [[unroll]] for (uint c = 0; c < LANE_VECTORS; ++c)
            keys[j * LANE_VECTORS + c] = fetch_any_key(key, c);
        [[unroll]] for (uint c = 0; c < V_LANE_VECTORS; ++c)
            values[j * V_LANE_VECTORS + c] = fetch_any_value(key, c);
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
        scores[i] = add_lanes(scores[i]) * p.scale;
}

void mask_scores(work w, uint first, uint end, bool masked)
{
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        [[unroll]] for (uint j = 0; j < KEYS; ++j) {
            uint key = first + slot() + SLOTS * j;
            float score = scores[r * KEYS + j];
            if (masked)
                score = mask_score(view_row(w, w.first_row + r).mask, clamp_key(key, end), score);
            scores[r * KEYS + j] = key < end ? score : LOWEST;
        }
    }
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
            scores[r * KEYS + j] = weight(scores[r * KEYS + j], maximum[r]);
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

// The steps of the workgroup over the visible keys: columns under the masks, then those after them.
struct walk {
    uvec2 range; // of columns
    uint masked_steps;
    uint begin, end;
};

walk view_walk(work w)
{
    walk v;
    v.range = visible_columns(view_row(w, w.first_row).mask, view_row(w, w.first_row + ROWS - 1).mask);
    v.masked_steps = (v.range.y - v.range.x + STEP_KEYS - 1) / STEP_KEYS;
    uint steps = v.masked_steps + (p.k_len - p.mask_cols + STEP_KEYS - 1) / STEP_KEYS;
    v.begin = split_begin(steps, w.split);
    v.end = split_begin(steps, w.split + 1);
    return v;
}

// The first key of a step, and the end of those that it may visit.
uvec2 step_keys(walk v, uint step)
{
    if (step < v.masked_steps)
        return uvec2(v.range.x + step * STEP_KEYS, v.range.y);
    return uvec2(p.mask_cols + (step - v.masked_steps) * STEP_KEYS, p.k_len);
}

bool is_fresh_step(uvec2 visited)
{
    return FRESH != 0 && min(visited.x + STEP_KEYS, visited.y) > p.fresh_first;
}

// Fresh keys are the last ones, which the last step visits if any does.
bool visits_fresh_keys(walk v)
{
    return FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM ||
           (v.begin < v.end && is_fresh_step(step_keys(v, v.end - 1)));
}

void attend(work w, walk v)
{
    for (uint step = v.begin; step < v.end; ++step) {
        uvec2 visited = step_keys(v, step);
        if (is_fresh_step(visited))
            load_fresh_keys_and_values(visited.x, visited.y);
        else
            load_keys_and_values(visited.x, visited.y);
        score_keys();
        mask_scores(w, visited.x, visited.y, step < v.masked_steps);
        weigh_keys();
        add_values();
    }
}

// Sets maximum and total to those of all slots, and brings the sums of this one to that maximum.
void join_slots()
{
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        if (lane() == 0) {
            slot_maxima[r * SLOTS + slot()] = maximum[r];
            slot_totals[r * SLOTS + slot()] = total[r];
        }
    }
    barrier();
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        float previous = maximum[r];
        for (uint s = 0; s < SLOTS; ++s)
            maximum[r] = max(maximum[r], slot_maxima[r * SLOTS + s]);
        total[r] = 0.0;
        for (uint s = 0; s < SLOTS; ++s)
            total[r] += slot_totals[r * SLOTS + s] * exp(slot_maxima[r * SLOTS + s] - maximum[r]);
        float rescale = exp(previous - maximum[r]);
        [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i)
            sums[r * V_LANE_QUADS + i] *= rescale;
    }
}

// Sets the sums of a fully masked row to the sums of all values in the split.
void add_all_values(work w)
{
    bool needed = false;
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        needed = needed || total[r] == 0.0;
        [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i)
            sums[r * V_LANE_QUADS + i] = total[r] == 0.0 ? vec4(0.0) : sums[r * V_LANE_QUADS + i];
    }
    uint end = needed ? split_begin(p.k_len, w.split + 1) : 0;
    for (uint key = split_begin(p.k_len, w.split) + slot(); key < end; key += SLOTS) {
        [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i) {
            vec4 value = v_quad(fetch_any_value(key, i / VECTOR_QUADS), i % VECTOR_QUADS);
            [[unroll]] for (uint r = 0; r < ROWS; ++r)
                sums[r * V_LANE_QUADS + i] += total[r] == 0.0 ? value : vec4(0.0);
        }
    }
}

void share_sums(uint r)
{
    [[unroll]] for (uint i = 0; i < V_LANE_QUADS; ++i) {
        uint vector = lane() + LANES * (i / VECTOR_QUADS);
        if (V_VECTORS % LANES == 0 || vector < V_VECTORS)
            slot_sums[slot() * V_QUADS + vector * VECTOR_QUADS + i % VECTOR_QUADS] = sums[r * V_LANE_QUADS + i];
    }
}

// A column of the row that the slots share.
float column_sum(uint r, uint col)
{
    float value = 0.0;
    for (uint s = 0; s < SLOTS; ++s)
        value += slot_sums[s * V_QUADS + col / 4][col % 4];
    return is_nan(total[r]) ? nan_value() : value;
}

void store_row(work w, uint r)
{
    row_view view = view_row(w, w.first_row + r);
    uint first = w.b * p.out_batch + view.l * p.out_row + view.h * p.out_head;
    bool hidden = total[r] == 0.0;
    float factor = hidden ? 1.0 : 1.0 / total[r];
    if (hidden && FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM)
        factor = 1.0 / float(p.k_len);
    for (uint col = gl_LocalInvocationID.x; col < V_HEAD_DIM; col += LOCAL_SIZE) {
        float value = column_sum(r, col) * factor;
        if (hidden && FULLY_MASKED != VKF_SHADER_FULLY_MASKED_UNIFORM)
            value = FULLY_MASKED == VKF_SHADER_FULLY_MASKED_NAN ? nan_value() : 0.0;
        out_store(first + col, value);
    }
}

// The first of a row's parts.
uint first_part(work w, uint row)
{
    row_view view = view_row(w, row);
    return ((w.b * p.heads + view.h) * p.q_len + view.l) * p.splits * PART_STRIDE;
}

void store_part(work w, uint r)
{
    uint first = first_part(w, w.first_row + r) + w.split * PART_STRIDE;
    for (uint col = gl_LocalInvocationID.x; col < V_HEAD_DIM; col += LOCAL_SIZE)
        PART_STORE(first + col, column_sum(r, col));
    if (gl_LocalInvocationID.x == 0) {
        PART_STORE(first + V_HEAD_DIM, maximum[r]);
        PART_STORE(first + V_HEAD_DIM + 1, total[r]);
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
    if (FRESH != 0) {
        bool kept = w.split == 0 && w.first_row == 0;
        if (kept || visits_fresh_keys(v))
            make_fresh_keys(w, kept);
    }
    start(w);
    attend(w, v);
    join_slots();
    if (FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM)
        add_all_values(w);
    [[unroll]] for (uint r = 0; r < ROWS; ++r) {
        if (w.first_row + r < row_count()) {
            share_sums(r);
            barrier();
            if (PARTIAL != 0)
                store_part(w, r);
            else
                store_row(w, r);
            barrier();
        }
    }
#ifdef ATTENTION_DECODE_JOINED
    if (is_last_workgroup(w))
        join_parts(w);
#endif
}

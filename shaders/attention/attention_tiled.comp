// Attention with a running softmax through tiles in shared memory; semantics in shared/attention.h.
//
// A workgroup takes ROWS rows (queries) of a key head, and KEYS keys at a time. It computes the scores as a product of
// tiles, shares the weights through shared memory, and computes the sums as a product of weights and values. LANES
// invocations share QUERIES rows: each scores KEYS / LANES keys and sums the columns of every LANES-th quad of a value.
// DEPTH elements of query and key are in shared memory at a time. SPLIT_LANES of shared/attention.h is LANES here,
// FENCE is DEPTH, and a split belongs to a whole workgroup.
//
// Invariants (the registry checks them): KEYS and LANES are powers of two, 4 <= LANES <= KEYS, LANES divides the local
// size, 4 divides DEPTH, ROWS = QUERIES * local size / LANES, TILE = (ROWS + KEYS) * (DEPTH / 4 + 1) >= 4 *
// ceil(V_HEAD_DIM / 4), and shared memory holds 16 * (TILE + ROWS * (KEYS / 4 + 1) + ROWS * (LANES / 4 + 1)) bytes.
// With splits > 1, PARTIAL is set and out is f32.
// Grid: in any fold of two dimensions, ceil(q_len * heads / kv_heads / ROWS) * splits * kv_heads * batch workgroups.
//
// Keys that no row of the workgroup sees are not visited, and whatever lies beyond the visible keys is never read: a
// step that reaches beyond them repeats the last key and gives it no weight. A key that one row sees and another does
// not takes part for the latter with weight 0, as in PyTorch. Mesa 22.3's lavapipe ends an invocation's loops after
// 65,535 iterations in all; one step of KEYS takes about HEAD_DIM / 4 + KEYS / 4.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "include/q8_rows.glsl"
#include "shared/attention.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"

layout(constant_id = VKF_ATTENTION_SPEC_QUERIES) const uint QUERIES = 4;
layout(constant_id = VKF_ATTENTION_SPEC_KEYS) const uint KEYS = 32;
layout(constant_id = VKF_ATTENTION_SPEC_SPLIT_LANES) const uint LANES = 8;
layout(constant_id = VKF_ATTENTION_SPEC_FENCE) const uint DEPTH = 32;
layout(constant_id = VKF_ATTENTION_SPEC_HEAD_DIM) const uint HEAD_DIM = 64;
layout(constant_id = VKF_ATTENTION_SPEC_V_HEAD_DIM) const uint V_HEAD_DIM = 64;
layout(constant_id = VKF_ATTENTION_SPEC_MASK_KIND) const uint MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_SPEC_KEY_MASK_KIND) const uint KEY_MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_SPEC_CAUSAL) const uint CAUSAL = 0;
layout(constant_id = VKF_ATTENTION_SPEC_WINDOW) const uint WINDOW = 0;
layout(constant_id = VKF_ATTENTION_SPEC_SCORE_FORM) const uint SCORE_FORM = 0;
layout(constant_id = VKF_ATTENTION_SPEC_FULLY_MASKED) const uint FULLY_MASKED = 0;
layout(constant_id = VKF_ATTENTION_SPEC_PARTIAL) const uint PARTIAL = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_params p; };
layout(push_constant) uniform offsets_block {
    uint q_offset, k_offset, v_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset;
};

READ_QUADS(TYPE_Q, VKF_ATTENTION_BINDING_Q, q)
READ_QUADS(TYPE_KV, VKF_ATTENTION_BINDING_K, k)
READ_QUADS(TYPE_KV, VKF_ATTENTION_BINDING_V, v)
WRITE(TYPE_OUT, VKF_ATTENTION_BINDING_OUT, out)
READ(bytes, VKF_ATTENTION_BINDING_MASK, mask)
READ(bytes, VKF_ATTENTION_BINDING_KEY_MASK, key_mask)

#define SLOPES_BINDING VKF_ATTENTION_BINDING_SLOPES
#define SINKS_BINDING VKF_ATTENTION_BINDING_SINKS
#include "include/mask.glsl"

const uint ROWS = QUERIES * LOCAL_SIZE / LANES;
const uint LANE_KEYS = KEYS / LANES;
const uint DEPTH_QUADS = DEPTH / 4;
const uint HEAD_QUADS = (HEAD_DIM + 3) / 4;
const uint V_QUADS = (V_HEAD_DIM + 3) / 4;
const uint LANE_QUADS = (V_QUADS + LANES - 1) / LANES; // of an output row
const uint DEPTH_STRIDE = DEPTH_QUADS + 1;             // in quads; padded against bank conflicts
const uint WEIGHT_STRIDE = KEYS / 4 + 1;
const uint MAXIMUM_STRIDE = LANES / 4 + 1;
const uint TILE_QUADS = (ROWS + KEYS) * DEPTH_STRIDE;
// How many keys have their values in shared memory at a time: all, or the largest power of two that fits.
const uint FIT_8 = TILE_QUADS >= 8 * V_QUADS ? 8 : 4;
const uint FIT_16 = TILE_QUADS >= 16 * V_QUADS ? 16 : FIT_8;
const uint FIT_32 = TILE_QUADS >= 32 * V_QUADS ? 32 : FIT_16;
const uint V_KEYS = TILE_QUADS >= KEYS * V_QUADS ? KEYS : FIT_32;

shared vec4 tile[TILE_QUADS];                  // (ROWS, depth) of query and (KEYS, depth) of key; or (V_KEYS, V_QUADS)
shared vec4 weights[ROWS * WEIGHT_STRIDE];     // (ROWS, KEYS)
shared vec4 lane_maxima[ROWS * MAXIMUM_STRIDE]; // (ROWS, LANES); at the end the lanes' totals

#define BLOCK_ROWS ROWS
#include "include/attention_work.glsl"

// Where the rows of the workgroup's matrices begin, and whether they can be read by quads.
struct source {
    uint first;
    uint stride;
    bool quads;
};

source q_source, k_source, v_source;
float scores[QUERIES * LANE_KEYS]; // then weights
vec4 sums[QUERIES * LANE_QUADS];   // of weighted values, relative to maximum
float maximum[QUERIES];
float total[QUERIES]; // of the weights of this lane's keys; in the end of all

uint lane()
{
    return gl_LocalInvocationID.x % LANES;
}

// In the workgroup, of the invocation's row r.
uint local_row(uint r)
{
    return gl_LocalInvocationID.x / LANES * QUERIES + r;
}

source view_source(uint offset, uint first, uint stride, uint dim)
{
    return source(first, stride, ((offset | first | stride | dim) & 3u) == 0u);
}

void start(work w)
{
    uint q_strides = p.q_row | p.q_head;
    q_source = view_source(q_offset, w.b * p.q_batch, q_strides, HEAD_DIM);
    k_source = view_source(k_offset, w.b * p.k_batch + w.kv_head * p.k_head, p.k_row, HEAD_DIM);
    v_source = view_source(v_offset, w.b * p.v_batch + w.kv_head * p.v_head, p.v_row, V_HEAD_DIM);
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        maximum[r] = LOWEST;
        total[r] = 0.0;
        if (SUNK) { // else Apple's compiler takes more registers for what it begins with
            vec2 begun = start_softmax(view_row(w, w.first_row + local_row(r)).h, w.split == 0);
            maximum[r] = begun.x;
            total[r] = lane() == 0 ? begun.y : 0.0;
        }
    }
    [[unroll]] for (uint i = 0; i < QUERIES * LANE_QUADS; ++i)
        sums[i] = vec4(0.0);
}

// Elements 4 * quad to 4 * quad + 3 of a row of `dim`, zeros beyond it.
#define FETCH(name, dim)                                                \
    vec4 name##_fetch(uint row, uint quad)                              \
    {                                                                   \
        vec4 value = vec4(0.0);                                         \
        if (name##_source.quads) {                                      \
            value = name##_load4(row + 4 * min(quad, (dim - 1) / 4));   \
            if (4 * quad >= dim)                                        \
                value = vec4(0.0);                                      \
        } else {                                                        \
            [[unroll]] for (uint c = 0; c < 4; ++c) {                   \
                float element = name##_load(row + min(4 * quad + c, dim - 1)); \
                value[c] = 4 * quad + c < dim ? element : 0.0;          \
            }                                                           \
        }                                                               \
        return value;                                                   \
    }
FETCH(q, HEAD_DIM)
FETCH(k, HEAD_DIM)
FETCH(v, V_HEAD_DIM)

void load_queries_and_keys(work w, uint first, uint end, uint quad_first)
{
    uint group = p.heads / p.kv_heads;
    uint last_row = p.q_len * group - 1;
    [[unroll]] for (uint step = 0; step < (ROWS * DEPTH_QUADS + LOCAL_SIZE - 1) / LOCAL_SIZE; ++step) {
        uint i = step * LOCAL_SIZE + gl_LocalInvocationID.x;
        uint row = min(w.first_row + i / DEPTH_QUADS, last_row);
        uint at = q_source.first + row / group * p.q_row + (w.kv_head * group + row % group) * p.q_head;
        if (ROWS * DEPTH_QUADS % LOCAL_SIZE == 0 || i < ROWS * DEPTH_QUADS)
            tile[i / DEPTH_QUADS * DEPTH_STRIDE + i % DEPTH_QUADS] = q_fetch(at, quad_first + i % DEPTH_QUADS);
    }
    [[unroll]] for (uint step = 0; step < (KEYS * DEPTH_QUADS + LOCAL_SIZE - 1) / LOCAL_SIZE; ++step) {
        uint i = step * LOCAL_SIZE + gl_LocalInvocationID.x;
        uint at = k_source.first + clamp_key(first + i / DEPTH_QUADS, end) * k_source.stride;
        if (KEYS * DEPTH_QUADS % LOCAL_SIZE == 0 || i < KEYS * DEPTH_QUADS)
            tile[(ROWS + i / DEPTH_QUADS) * DEPTH_STRIDE + i % DEPTH_QUADS] =
                k_fetch(at, quad_first + i % DEPTH_QUADS);
    }
}

// Adds the products of four elements of the depth.
void add_products(uint quad)
{
    vec4 key[LANE_KEYS];
    [[unroll]] for (uint j = 0; j < LANE_KEYS; ++j)
        key[j] = tile[(ROWS + lane() + LANES * j) * DEPTH_STRIDE + quad];
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        vec4 query = tile[local_row(r) * DEPTH_STRIDE + quad];
        [[unroll]] for (uint j = 0; j < LANE_KEYS; ++j) {
            [[unroll]] for (uint c = 0; c < 4; ++c)
                scores[r * LANE_KEYS + j] += query[c] * key[j][c];
        }
    }
}

// Computes the scores of the invocation's rows and its keys, which are first + lane + LANES * j.
void score_keys(work w, uint first, uint end)
{
    [[unroll]] for (uint i = 0; i < QUERIES * LANE_KEYS; ++i)
        scores[i] = 0.0;
    for (uint quad_first = 0; quad_first < HEAD_QUADS; quad_first += DEPTH_QUADS) {
        barrier();
        load_queries_and_keys(w, first, end, quad_first);
        barrier();
        // Not unrolled: registers run out.
        [[dont_unroll]] for (uint i = 0; i < min(DEPTH_QUADS, HEAD_QUADS); ++i)
            add_products(i);
    }
}

void mask_scores(work w, uint first, uint end, bool masked)
{
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        [[unroll]] for (uint j = 0; j < LANE_KEYS; ++j) {
            uint key = first + lane() + LANES * j;
            float score = cap_score(scores[r * LANE_KEYS + j] * p.scale);
            if (masked)
                score = mask_score(view_row(w, w.first_row + local_row(r)).mask, clamp_key(key, end), score);
            scores[r * LANE_KEYS + j] = key < end ? score : MASKED;
        }
    }
}

// Turns scores into weights, for all lanes to read, and brings the sums to the new maximum. A NaN score compares false
// and leaves the maximum alone.
void weigh_keys()
{
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        float lane_maximum = LOWEST;
        [[unroll]] for (uint j = 0; j < LANE_KEYS; ++j) {
            float score = scores[r * LANE_KEYS + j];
            lane_maximum = score > lane_maximum ? score : lane_maximum;
        }
        lane_maxima[local_row(r) * MAXIMUM_STRIDE + lane() / 4][lane() % 4] = lane_maximum;
    }
    barrier();
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        float previous = maximum[r];
        [[unroll]] for (uint i = 0; i < LANES / 4; ++i) {
            vec4 four = lane_maxima[local_row(r) * MAXIMUM_STRIDE + i];
            maximum[r] = max(maximum[r], max(max(four.x, four.y), max(four.z, four.w)));
        }
        float rescale = exp(previous - maximum[r]);
        total[r] *= rescale;
        [[unroll]] for (uint i = 0; i < LANE_QUADS; ++i)
            sums[r * LANE_QUADS + i] *= rescale;
        [[unroll]] for (uint j = 0; j < LANE_KEYS; ++j) {
            uint key = lane() + LANES * j;
            float value = weight(scores[r * LANE_KEYS + j], maximum[r]);
            total[r] += value;
            weights[local_row(r) * WEIGHT_STRIDE + key / 4][key % 4] = value;
        }
    }
}

void load_values(uint first, uint end)
{
    [[unroll]] for (uint step = 0; step < (V_KEYS * V_QUADS + LOCAL_SIZE - 1) / LOCAL_SIZE; ++step) {
        uint i = step * LOCAL_SIZE + gl_LocalInvocationID.x;
        uint at = v_source.first + clamp_key(first + i / V_QUADS, end) * v_source.stride;
        if (V_KEYS * V_QUADS % LOCAL_SIZE == 0 || i < V_KEYS * V_QUADS)
            tile[i] = v_fetch(at, i % V_QUADS);
    }
}

void add_values(uint first, uint end)
{
    for (uint key_first = 0; key_first < KEYS; key_first += V_KEYS) {
        barrier();
        load_values(first + key_first, end);
        barrier();
        for (uint key = 0; key < V_KEYS; key += 4) {
            vec4 four[QUERIES];
            [[unroll]] for (uint r = 0; r < QUERIES; ++r)
                four[r] = weights[local_row(r) * WEIGHT_STRIDE + (key_first + key) / 4];
            [[unroll]] for (uint c = 0; c < 4; ++c) {
                [[unroll]] for (uint i = 0; i < LANE_QUADS; ++i) {
                    vec4 value = tile[(key + c) * V_QUADS + min(lane() + LANES * i, V_QUADS - 1)];
                    [[unroll]] for (uint r = 0; r < QUERIES; ++r)
                        sums[r * LANE_QUADS + i] += four[r][c] * value;
                }
            }
        }
    }
}

// The visible keys of the workgroup: columns under the masks, then those after them.
void attend(work w)
{
    uvec2 range = visible_columns(view_row(w, w.first_row).mask, view_row(w, w.first_row + ROWS - 1).mask);
    uint masked_steps = (range.y - range.x + KEYS - 1) / KEYS;
    uint steps = masked_steps + (p.k_len - p.mask_cols + KEYS - 1) / KEYS;
    uint end_step = split_begin(steps, w.split + 1);
    for (uint step = split_begin(steps, w.split); step < end_step; ++step) {
        bool masked = step < masked_steps;
        uint first = masked ? range.x + step * KEYS : p.mask_cols + (step - masked_steps) * KEYS;
        uint end = masked ? range.y : p.k_len;
        score_keys(w, first, end);
        mask_scores(w, first, end, masked);
        weigh_keys();
        add_values(first, end);
    }
}

void add_totals()
{
    barrier();
    [[unroll]] for (uint r = 0; r < QUERIES; ++r)
        lane_maxima[local_row(r) * MAXIMUM_STRIDE + lane() / 4][lane() % 4] = total[r];
    barrier();
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        total[r] = 0.0;
        [[unroll]] for (uint i = 0; i < LANES / 4; ++i) {
            vec4 four = lane_maxima[local_row(r) * MAXIMUM_STRIDE + i];
            total[r] += four.x + four.y + four.z + four.w;
        }
    }
}

// Sets the sums of a fully masked row to the sums of all values in the split.
void add_all_values(work w)
{
    bool needed = false;
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        needed = needed || total[r] == 0.0;
        [[unroll]] for (uint i = 0; i < LANE_QUADS; ++i)
            sums[r * LANE_QUADS + i] = total[r] == 0.0 ? vec4(0.0) : sums[r * LANE_QUADS + i];
    }
    uint end = needed ? split_begin(p.k_len, w.split + 1) : 0;
    for (uint key = split_begin(p.k_len, w.split); key < end; ++key) {
        [[unroll]] for (uint i = 0; i < LANE_QUADS; ++i) {
            uint quad = min(lane() + LANES * i, V_QUADS - 1);
            vec4 value = v_fetch(v_source.first + key * v_source.stride, quad);
            [[unroll]] for (uint r = 0; r < QUERIES; ++r)
                sums[r * LANE_QUADS + i] += total[r] == 0.0 ? value : vec4(0.0);
        }
    }
}

void store_row(work w, uint r)
{
    row_view view = view_row(w, w.first_row + local_row(r));
    uint first = w.b * p.out_batch + view.l * p.out_row + view.h * p.out_head;
    if (PARTIAL != 0)
        first = (((w.b * p.heads + view.h) * p.q_len + view.l) * p.splits + w.split) * (V_HEAD_DIM + 2);
    bool hidden = PARTIAL == 0 && total[r] == 0.0;
    float factor = PARTIAL != 0 || hidden ? 1.0 : 1.0 / total[r];
    if (hidden && FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM)
        factor = 1.0 / float(p.k_len);
    [[unroll]] for (uint i = 0; i < LANE_QUADS; ++i) {
        [[unroll]] for (uint c = 0; c < 4; ++c) {
            uint col = 4 * (lane() + LANES * i) + c;
            float value = sums[r * LANE_QUADS + i][c] * factor;
            if (hidden && FULLY_MASKED != VKF_SHADER_FULLY_MASKED_UNIFORM)
                value = FULLY_MASKED == VKF_SHADER_FULLY_MASKED_NAN ? nan_value() : 0.0;
            if (col < V_HEAD_DIM)
                out_store(first + col, is_nan(total[r]) ? nan_value() : value);
        }
    }
    if (PARTIAL != 0 && lane() == 0) {
        out_store(first + V_HEAD_DIM, maximum[r]);
        out_store(first + V_HEAD_DIM + 1, total[r]);
    }
}

void main()
{
    work w = view_work(group_index());
    if (w.b >= p.batch)
        return;
    start(w);
    attend(w);
    add_totals();
    if (FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM)
        add_all_values(w);
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        if (w.first_row + local_row(r) < row_count())
            store_row(w, r);
    }
}

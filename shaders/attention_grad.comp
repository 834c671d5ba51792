// Gradients of attention through tiles in shared memory; semantics in shared/attention_grad.h.
//
// A workgroup has OWN rows of a key head, its queries or its keys, and walks over the others, STEP at a time. A step
// computes the scores, and the products of the gradient with values, as products of tiles; makes weights of them, which
// are shared through shared memory; and adds the other rows, so weighted, to the sums of its own. LANES invocations
// share EACH own rows: each has STEP / LANES other rows of the tile, and sums every LANES-th quad of a row. DEPTH
// elements of all rows are in shared memory at a time. What every workgroup sums up is its own: no result depends on
// the order in which workgroups run.
//
// The sums of exponentials need no weights to be shared: each lane keeps a maximum and a total of the keys that it has
// come across, and all are put together in the end.
//
// Invariants (the registry checks them): STEP and LANES are powers of two, 4 divides STEP, LANES <= STEP, LANES divides
// the local size, 4 divides DEPTH, OWN = EACH * local size / LANES, TILE = (OWN + STEP) * (DEPTH / 4 + 1) is at least
// EACH * local size and 4 * ceil(head_dim / 4), for the wider of the two, and shared memory holds
// 16 * (TILE + OWN * (STEP / 4 + 1)) + 4 * STEP bytes.
// Grid: in any fold of two dimensions, ceil(rows / OWN) * kv_heads * batch workgroups, of the k_len rows of keys or the
// q_len * heads / kv_heads rows of queries of a key head.
//
// Rows that none of the workgroup's own see, or are seen by, are not visited, or add nothing whatever they hold: they
// are taken for zeros when they are added. Mesa 22.3's lavapipe ends an invocation's loops after 65,535 iterations in
// all, so the emitter divides the other rows among dispatches.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/attention_grad.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"
#include "include/tile_steps.glsl"

layout(constant_id = VKF_ATTENTION_GRAD_SPEC_EACH) const uint EACH = 4;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_STEP) const uint STEP = 32;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_LANES) const uint LANES = 8;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_DEPTH) const uint DEPTH = 32;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_HEAD_DIM) const uint HEAD_DIM = 64;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_V_HEAD_DIM) const uint V_HEAD_DIM = 64;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_MASK_KIND) const uint MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_KEY_MASK_KIND) const uint KEY_MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_CAUSAL) const uint CAUSAL = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_WINDOW) const uint WINDOW = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_GIVES) const uint GIVES = VKF_ATTENTION_GRAD_LOG_SUMS;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_grad_params p; };
#ifdef ATTENTION_GRAD_PAIR
layout(push_constant) uniform offsets_block {
    uint rows_offset, out_offset, mask_offset, key_mask_offset, value_out_offset;
};
READ_WRITE(TYPE_OUT, VKF_ATTENTION_GRAD_BINDING_VALUE_OUT, value_out)
#else
layout(push_constant) uniform offsets_block { uint rows_offset, out_offset, mask_offset, key_mask_offset; };
#endif

READ_QUADS(f32, VKF_ATTENTION_GRAD_BINDING_ROWS, rows)
READ_WRITE(TYPE_OUT, VKF_ATTENTION_GRAD_BINDING_OUT, out)
READ(bytes, VKF_ATTENTION_GRAD_BINDING_MASK, mask)
READ(bytes, VKF_ATTENTION_GRAD_BINDING_KEY_MASK, key_mask)

#include "include/mask.glsl"

const bool GIVES_BOTH = GIVES == VKF_ATTENTION_GRAD_KEY_AND_VALUE;
const bool OWNS_KEYS = GIVES >= VKF_ATTENTION_GRAD_KEY;
// The first half of a row is the query or the key; the second is the gradient or the value.
const bool SUMS_FIRST = GIVES == VKF_ATTENTION_GRAD_QUERY || GIVES == VKF_ATTENTION_GRAD_KEY || GIVES_BOTH;
const bool SUMS_SECOND = GIVES == VKF_ATTENTION_GRAD_VALUE || GIVES_BOTH;

const uint OWN = EACH * LOCAL_SIZE / LANES;
const uint LANE_OTHERS = STEP / LANES;
const uint DEPTH_QUADS = DEPTH / 4;
const uint FIRST_QUADS = (HEAD_DIM + 3) / 4;
const uint SECOND_QUADS = (V_HEAD_DIM + 3) / 4;
const uint ROW_QUADS = FIRST_QUADS + SECOND_QUADS;
const uint WIDE_QUADS = FIRST_QUADS > SECOND_QUADS ? FIRST_QUADS : SECOND_QUADS;
const uint DEPTH_STRIDE = DEPTH_QUADS + 1; // in quads; padded against bank conflicts
const uint WEIGHT_STRIDE = STEP / 4 + 1;
const uint TILE_QUADS = (OWN + STEP) * DEPTH_STRIDE;
// How many rows are in shared memory at a time to be added: all, or the largest power of two that fits.
const uint FIT_8 = TILE_QUADS >= 8 * WIDE_QUADS ? 8 : 4;
const uint FIT_16 = TILE_QUADS >= 16 * WIDE_QUADS ? 16 : FIT_8;
const uint FIT_32 = TILE_QUADS >= 32 * WIDE_QUADS ? 32 : FIT_16;
const uint HELD = FIT_32 < STEP ? FIT_32 : STEP;
// What a dispatch does not sum has one quad, because no array is empty.
const uint FIRST_LANE_QUADS = SUMS_FIRST ? (FIRST_QUADS + LANES - 1) / LANES : 1;
const uint SECOND_LANE_QUADS = SUMS_SECOND ? (SECOND_QUADS + LANES - 1) / LANES : 1;
const uint QUERIES = OWNS_KEYS ? LANE_OTHERS : EACH; // of an invocation, in a step

shared vec4 tile[TILE_QUADS];             // (OWN, depth) and (STEP, depth) of rows; (HELD, quads) of rows to be added
shared vec4 weights[OWN * WEIGHT_STRIDE]; // (OWN, STEP)
shared uint seen_step[STEP];              // the last step, counted from 1, in which an own row saw such a row

#include "include/attention_grad_rows.glsl"

// Where rows of the own and of the other kind begin among all rows, and those of queries.
uint own_base, other_base, query_base;
float dots[EACH * LANE_OTHERS];
float scores[EACH * LANE_OTHERS]; // then weights
float log_sums[QUERIES];
float deltas[QUERIES];
float maximum[EACH];
float total[EACH]; // of the exponentials, relative to maximum
vec4 first_sums[EACH * FIRST_LANE_QUADS];
vec4 second_sums[EACH * SECOND_LANE_QUADS];

uint lane()
{
    return gl_LocalInvocationID.x % LANES;
}

// In the workgroup, of the invocation's row r.
uint local_row(uint r)
{
    return gl_LocalInvocationID.x / LANES * EACH + r;
}

void load_stats(uint at, uint row)
{
    row = query_base + min(row, query_count() - 1);
    log_sums[at] = rows_load(p.log_sums_first + row);
    if (SUMS_FIRST)
        deltas[at] = rows_load(p.deltas_first + row);
}

// What the dispatches before this one have found.
void start_totals(work w)
{
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        float before = LOWEST;
        if (p.slice > 0 && lane() == 0)
            before = out_load(query_base + min(w.first_own + local_row(r), query_count() - 1));
        maximum[r] = is_nan(before) ? LOWEST : before;
        total[r] = is_nan(before) ? before : before > LOWEST ? 1.0 : 0.0;
    }
}

void start(work w)
{
    uint entry = w.b * p.kv_heads + w.kv_head, key_base = p.keys_first + entry * p.k_len;
    query_base = entry * query_count();
    own_base = OWNS_KEYS ? key_base : query_base;
    other_base = OWNS_KEYS ? query_base : key_base;
    [[unroll]] for (uint i = 0; i < EACH * FIRST_LANE_QUADS; ++i)
        first_sums[i] = vec4(0.0);
    [[unroll]] for (uint i = 0; i < EACH * SECOND_LANE_QUADS; ++i)
        second_sums[i] = vec4(0.0);
    for (uint i = gl_LocalInvocationID.x; i < STEP; i += LOCAL_SIZE)
        seen_step[i] = 0;
    if (GIVES == VKF_ATTENTION_GRAD_LOG_SUMS)
        start_totals(w);
    if (GIVES == VKF_ATTENTION_GRAD_QUERY) {
        [[unroll]] for (uint r = 0; r < EACH; ++r)
            load_stats(r, w.first_own + local_row(r));
    }
}

vec4 row_quad(uint row, uint quad)
{
    return rows_load4(4 * (row * ROW_QUADS + min(quad, ROW_QUADS - 1)));
}

// Quads from `from` on, of the own rows and of the others.
void load_rows(work w, uint first, uint end, uint from)
{
    [[unroll]] for (uint step = 0; step < STEPS_OF(OWN * DEPTH_QUADS); ++step) {
        uint i = step_number(step), row = min(w.first_own + i / DEPTH_QUADS, own_count() - 1);
        if (has_step(step, OWN * DEPTH_QUADS))
            tile[i / DEPTH_QUADS * DEPTH_STRIDE + i % DEPTH_QUADS] = row_quad(own_base + row, from + i % DEPTH_QUADS);
    }
    [[unroll]] for (uint step = 0; step < STEPS_OF(STEP * DEPTH_QUADS); ++step) {
        uint i = step_number(step), row = min(first + i / DEPTH_QUADS, end - 1);
        if (has_step(step, STEP * DEPTH_QUADS))
            tile[(OWN + i / DEPTH_QUADS) * DEPTH_STRIDE + i % DEPTH_QUADS] =
                row_quad(other_base + row, from + i % DEPTH_QUADS);
    }
}

// Adds the products of four elements of the depth.
void add_products(uint quad)
{
    vec4 other[LANE_OTHERS];
    [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j)
        other[j] = tile[(OWN + lane() + LANES * j) * DEPTH_STRIDE + quad];
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        vec4 own = tile[local_row(r) * DEPTH_STRIDE + quad];
        [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
            [[unroll]] for (uint c = 0; c < 4; ++c)
                dots[r * LANE_OTHERS + j] += own[c] * other[j][c];
        }
    }
}

// Multiplies a half of the own rows by that of the others, which are first + lane + LANES * j for the invocation.
void multiply(work w, uint first, uint end, uint from, uint quads)
{
    [[unroll]] for (uint i = 0; i < EACH * LANE_OTHERS; ++i)
        dots[i] = 0.0;
    [[dont_unroll]] for (uint at = 0; at < quads; at += DEPTH_QUADS) {
        barrier();
        load_rows(w, first, end, from + at);
        barrier();
        // Not unrolled: registers run out.
        [[dont_unroll]] for (uint i = 0; i < min(DEPTH_QUADS, quads - at); ++i)
            add_products(i);
    }
}

void mask_scores(work w, uint first, uint end)
{
    [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
        uint other = first + lane() + LANES * j;
        [[unroll]] for (uint r = 0; r < EACH; ++r) {
            uint own = w.first_own + local_row(r), row = OWNS_KEYS ? other : own;
            uint key = OWNS_KEYS ? min(own, p.k_len - 1) : min(other, end - 1);
            float score = dots[r * LANE_OTHERS + j] * p.scale;
            if (key < p.mask_cols)
                score = mask_score(view_query(w, row), key, score);
            scores[r * LANE_OTHERS + j] = other < end ? score : LOWEST;
        }
    }
}

// A NaN score compares false and leaves the maximum alone.
void add_exponentials()
{
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        float previous = maximum[r];
        [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
            float score = scores[r * LANE_OTHERS + j];
            maximum[r] = score > maximum[r] ? score : maximum[r];
        }
        total[r] *= exp(previous - maximum[r]);
        [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j)
            total[r] += weight(scores[r * LANE_OTHERS + j], maximum[r]);
    }
}

// Turns scores into weights, and notes which of the other rows have any.
void weigh(uint first, uint stamp)
{
    [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
        if (OWNS_KEYS)
            load_stats(j, first + lane() + LANES * j);
        bool seen = false;
        [[unroll]] for (uint r = 0; r < EACH; ++r) {
            float value = weight(scores[r * LANE_OTHERS + j], log_sums[OWNS_KEYS ? j : r]);
            scores[r * LANE_OTHERS + j] = value;
            seen = seen || floatBitsToUint(value) != 0;
        }
        if (seen)
            seen_step[lane() + LANES * j] = stamp;
    }
}

// What a weight of 0 hides may be no number.
void make_gradients()
{
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
            float value = scores[r * LANE_OTHERS + j], change = dots[r * LANE_OTHERS + j] - deltas[OWNS_KEYS ? j : r];
            scores[r * LANE_OTHERS + j] = floatBitsToUint(value) != 0 ? value * change : 0.0;
        }
    }
}

void share_weights()
{
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
            uint other = lane() + LANES * j;
            weights[local_row(r) * WEIGHT_STRIDE + other / 4][other % 4] = scores[r * LANE_OTHERS + j];
        }
    }
}

void load_held(uint first, uint end, uint begin, uint from, uint quads, uint stamp)
{
    [[unroll]] for (uint step = 0; step < STEPS_OF(HELD * quads); ++step) {
        uint i = step_number(step), row = begin + i / quads;
        if (has_step(step, HELD * quads))
            tile[i] = seen_step[row] == stamp
                          ? row_quad(other_base + min(first + row, end - 1), from + i % quads)
                          : vec4(0.0);
    }
}

// name_add adds a half of the other rows, weighted, to name_sums.
#define SUMS(name, from, quads, lane_quads)                                              \
    void name##_add(uint first, uint end, uint stamp)                                    \
    {                                                                                    \
        [[dont_unroll]] for (uint begin = 0; begin < STEP; begin += HELD) {              \
            barrier();                                                                   \
            load_held(first, end, begin, from, quads, stamp);                            \
            barrier();                                                                   \
            [[dont_unroll]] for (uint row = 0; row < HELD; row += 4) {                   \
                vec4 four[EACH];                                                         \
                [[unroll]] for (uint r = 0; r < EACH; ++r)                               \
                    four[r] = weights[local_row(r) * WEIGHT_STRIDE + (begin + row) / 4]; \
                [[unroll]] for (uint c = 0; c < 4; ++c) {                                \
                    [[unroll]] for (uint i = 0; i < lane_quads; ++i) {                   \
                        vec4 value = tile[(row + c) * quads + min(lane() + LANES * i, quads - 1)]; \
                        [[unroll]] for (uint r = 0; r < EACH; ++r)                       \
                            name##_sums[r * lane_quads + i] += four[r][c] * value;       \
                    }                                                                    \
                }                                                                        \
            }                                                                            \
        }                                                                                \
    }
SUMS(first, 0, FIRST_QUADS, FIRST_LANE_QUADS)
SUMS(second, FIRST_QUADS, SECOND_QUADS, SECOND_LANE_QUADS)

void take_step(work w, uint first, uint end, uint stamp)
{
    multiply(w, first, end, 0, FIRST_QUADS);
    mask_scores(w, first, end);
    if (GIVES == VKF_ATTENTION_GRAD_LOG_SUMS) {
        add_exponentials();
        return;
    }
    weigh(first, stamp);
    if (SUMS_SECOND) {
        share_weights();
        second_add(first, end, stamp);
    }
    if (SUMS_FIRST) {
        multiply(w, first, end, FIRST_QUADS, SECOND_QUADS);
        make_gradients();
        share_weights();
        first_add(first, end, stamp);
    }
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
    uint end_step = slice_begin(steps, p.slice + 1);
    for (uint step = slice_begin(steps, p.slice); step < end_step; ++step) {
        bool in_range = step < range_steps;
        uint first = in_range ? range.x + step * STEP : rest.x + (step - range_steps) * STEP;
        take_step(w, first, in_range ? range.y : rest.y, step + 1);
    }
}

// Puts together what the lanes of a row have found. A row without any key has LOWEST.
void store_log_sums(work w)
{
    barrier();
    [[unroll]] for (uint r = 0; r < EACH; ++r)
        tile[local_row(r) * LANES + lane()].xy = vec2(maximum[r], total[r]);
    barrier();
    for (uint row = gl_LocalInvocationID.x; row < OWN; row += LOCAL_SIZE) {
        float highest = LOWEST, sum = 0.0;
        for (uint i = 0; i < LANES; ++i)
            highest = max(highest, tile[row * LANES + i].x);
        for (uint i = 0; i < LANES; ++i)
            sum += tile[row * LANES + i].y * exp(tile[row * LANES + i].x - highest);
        float log_sum = sum > 0.0 ? highest + log(sum) : LOWEST;
        if (w.first_own + row < query_count())
            out_store(query_base + w.first_own + row, is_nan(sum) ? sum : log_sum);
    }
}

#define STORE(to, name, lane_quads, dim, adds, factor)                                         \
    void to##_##name##_row(uint r, uint first)                                                 \
    {                                                                                          \
        [[unroll]] for (uint i = 0; i < lane_quads; ++i) {                                     \
            [[unroll]] for (uint c = 0; c < 4; ++c) {                                          \
                uint col = 4 * (lane() + LANES * i) + c;                                       \
                if (col < dim)                                                                 \
                    to##_store(first + col, factor * name##_sums[r * lane_quads + i][c] +      \
                                                (adds != 0 ? to##_load(first + col) : 0.0));   \
            }                                                                                  \
        }                                                                                      \
    }
STORE(out, first, FIRST_LANE_QUADS, HEAD_DIM, p.adds, p.scale)
STORE(out, second, SECOND_LANE_QUADS, V_HEAD_DIM, p.adds, 1.0)
#ifdef ATTENTION_GRAD_PAIR
STORE(value_out, second, SECOND_LANE_QUADS, V_HEAD_DIM, p.value_adds, 1.0)
#endif

void store_row(work w, uint r)
{
    uint row = w.first_own + local_row(r);
    uint first = first_element(w, row, p.out_batch, p.out_row, p.out_head);
    if (SUMS_FIRST)
        out_first_row(r, first);
    if (SUMS_SECOND && !GIVES_BOTH)
        out_second_row(r, first);
#ifdef ATTENTION_GRAD_PAIR
    if (GIVES_BOTH)
        value_out_second_row(r, first_element(w, row, p.value_out_batch, p.value_out_row, p.value_out_head));
#endif
}

void main()
{
    work w = view_work(group_index());
    if (w.b >= p.batch)
        return;
    start(w);
    walk(w);
    if (GIVES == VKF_ATTENTION_GRAD_LOG_SUMS)
        store_log_sums(w);
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        if (GIVES != VKF_ATTENTION_GRAD_LOG_SUMS && w.first_own + local_row(r) < own_count())
            store_row(w, r);
    }
}

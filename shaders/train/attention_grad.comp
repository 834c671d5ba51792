// Attention for training and its gradients through tiles in shared memory; semantics in shared/attention_grad.h.
//
// A workgroup has OWN rows of a key head, its queries or its keys, and walks over the others, STEP at a time. A step
// computes the scores, and the products of the gradient with values, as products of tiles; makes weights of them, which
// are shared through shared memory; and adds the other rows, so weighted, to the sums of its own. LANES invocations
// share EACH own rows: each has STEP / LANES other rows of the tile, and sums every LANES-th quad of a row. DEPTH
// elements of all rows are in shared memory at a time. What every workgroup sums up is its own: no result depends on
// the order in which workgroups run.
//
// The output is summed along with the softmax: a step brings the sums to a maximum that all lanes of a row have in
// common, and each lane totals the weights of its own keys.
//
// For a bias there are no sums of rows: a workgroup takes one step of keys in each batch entry, and an invocation sums
// the gradients of its own scores.
//
// With dropout all invocations first draw what of a step's weights is kept, four keys at a time, and share it.
//
// Invariants (the registry checks them): STEP and LANES are powers of two, 4 <= LANES <= STEP, LANES divides the local
// size, 4 divides DEPTH, and OWN = EACH * local size / LANES, EACH * STEP / LANES <= 32, TILE = (OWN + STEP) *
// (DEPTH / 4 + 1) is at least 4 * ceil(head_dim / 4), for the wider of the two, and shared memory holds
// 16 * (TILE + OWN * (STEP / 4 + 1)) + 4 * STEP + 4 * OWN * (STEP / 4 + 1) bytes.
// Grid: in any fold of two dimensions, ceil(rows / OWN) * key_heads workgroups, of the k_len rows of keys or the
// q_len * heads / kv_heads rows of queries of a key head; for a bias kv_heads * ceil(mask_cols / STEP) takes the place
// of key_heads.
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
#include "include/dropout.glsl"

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
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_SCORE_FORM) const uint SCORE_FORM = 0;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_GIVES) const uint GIVES = VKF_ATTENTION_GRAD_OUTPUT;
layout(constant_id = VKF_ATTENTION_GRAD_SPEC_DROPOUT) const uint DROPOUT = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_grad_params p; };
#ifdef ATTENTION_GRAD_PAIR
layout(push_constant) uniform offsets_block {
    uint rows_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset, value_out_offset;
};
READ_WRITE(TYPE_OUT, VKF_ATTENTION_GRAD_BINDING_VALUE_OUT, value_out)
#else
layout(push_constant) uniform offsets_block {
    uint rows_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset;
};
#endif

READ_QUADS(f32, VKF_ATTENTION_GRAD_BINDING_ROWS, rows)
READ_WRITE(TYPE_OUT, VKF_ATTENTION_GRAD_BINDING_OUT, out)
#ifdef ATTENTION_TRAIN
// Another view of the rows' buffer, where row stats go.
#define stats_out_offset rows_offset
WRITE(f32, VKF_ATTENTION_GRAD_BINDING_ROWS, stats_out)
#endif
READ(bytes, VKF_ATTENTION_GRAD_BINDING_MASK, mask)
READ(bytes, VKF_ATTENTION_GRAD_BINDING_KEY_MASK, key_mask)

// The first half of a row is the query or the key; the second is the gradient or the value.
#ifdef ATTENTION_TRAIN
const bool TRAINS = true, GIVES_BOTH = false, GIVES_BIAS = false, OWNS_KEYS = false, SUMS_FIRST = false;
const bool SUMS_SECOND = GIVES == VKF_ATTENTION_GRAD_OUTPUT;
#else
const bool TRAINS = false;
const bool GIVES_BOTH = GIVES == VKF_ATTENTION_GRAD_KEY_AND_VALUE;
const bool GIVES_BIAS = GIVES == VKF_ATTENTION_GRAD_BIAS;
const bool OWNS_KEYS = GIVES >= VKF_ATTENTION_GRAD_KEY;
const bool SUMS_FIRST = GIVES == VKF_ATTENTION_GRAD_QUERY || GIVES == VKF_ATTENTION_GRAD_KEY || GIVES_BOTH;
const bool SUMS_SECOND = GIVES == VKF_ATTENTION_GRAD_VALUE || GIVES_BOTH;
#endif

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
// What is drawn for a step: rows of queries, and quads of keys, of which one more begins where a step of keys does not
// begin at a quad.
const uint DRAWN_ROWS = OWNS_KEYS ? STEP : OWN;
const uint DRAWN_QUADS = OWNS_KEYS ? OWN / 4 : STEP / 4 + 1;

shared vec4 tile[TILE_QUADS];             // (OWN, depth) and (STEP, depth) of rows; (HELD, quads) of rows to be added
shared vec4 weights[OWN * WEIGHT_STRIDE]; // (OWN, STEP)
shared uint seen_step[STEP];              // the last step, counted from 1, in which an own row saw such a row
// (DRAWN_ROWS, DRAWN_QUADS), a bit for each of four keys that is kept, in room enough for keys and for queries: no
// length of a shared array may be selected.
shared uint drawn[DROPOUT * OWN * (STEP / 4 + 1) + 1];

#include "include/attention_grad_rows.glsl"

// Where the key head's rows of the own and of the other kind begin, and its queries among those of all key heads.
uint own_base, other_base, query_base;
float dots[EACH * LANE_OTHERS];
float scores[EACH * LANE_OTHERS]; // then weights
float maxima[QUERIES];
float factors[QUERIES];
float deltas[QUERIES];
float maximum[EACH];
float total[EACH]; // of the weights of this lane's keys, relative to maximum; in the end of all
uint kept;         // a bit for each of the scores
float bias_sums[GIVES_BIAS ? EACH * LANE_OTHERS : 1];
float bends[CAPPED ? EACH * LANE_OTHERS : 1]; // of the capped scores
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
    maxima[at] = rows_load(p.maxima_first + row);
    factors[at] = rows_load(p.factors_first + row);
    if (SUMS_FIRST || GIVES_BIAS)
        deltas[at] = rows_load(p.deltas_first + row);
}

#ifdef ATTENTION_TRAIN
// What the dispatches before this one have found: an output, divided by its total, and row stats.
void start_output(work w)
{
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        uint row = min(w.first_own + local_row(r), query_count() - 1);
        float before = p.slice > 0 ? rows_load(p.maxima_first + query_base + row) : LOWEST;
        float factor = p.slice > 0 ? rows_load(p.factors_first + query_base + row) : 0.0;
        float sum = is_nan(before) ? before : factor > 0.0 ? 1.0 / factor : 0.0;
        vec2 begun = start_softmax(head_of(w, row), p.slice == 0);
        sum = p.slice == 0 ? begun.y : sum;
        maximum[r] = is_nan(before) ? LOWEST : max(before, begun.x);
        total[r] = is_nan(before) || lane() == 0 ? sum : 0.0;
        uint first = first_element(w, row, p.out_batch, p.out_row, p.out_head);
        [[unroll]] for (uint i = 0; i < 4 * SECOND_LANE_QUADS; ++i) {
            uint col = 4 * (lane() + i / 4 * LANES) + i % 4;
            if (SUMS_SECOND && p.slice > 0 && col < V_HEAD_DIM)
                second_sums[r * SECOND_LANE_QUADS + i / 4][i % 4] = sum * out_load(first + col);
        }
    }
}
#endif

void start(work w)
{
    uint at = key_head_of(w) - p.first_key_head, keys = p.keys_first + at * p.k_len, queries = at * query_count();
    own_base = OWNS_KEYS ? keys : queries;
    other_base = OWNS_KEYS ? queries : keys;
    query_base = key_head_of(w) * query_count();
    [[unroll]] for (uint i = 0; i < EACH * FIRST_LANE_QUADS; ++i)
        first_sums[i] = vec4(0.0);
    [[unroll]] for (uint i = 0; i < EACH * SECOND_LANE_QUADS; ++i)
        second_sums[i] = vec4(0.0);
    for (uint i = gl_LocalInvocationID.x; i < STEP; i += LOCAL_SIZE)
        seen_step[i] = 0;
#ifdef ATTENTION_TRAIN
    start_output(w);
#endif
    if (!TRAINS && !OWNS_KEYS) {
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
            float score = cap_score(dots[r * LANE_OTHERS + j] * p.scale);
            if (CAPPED)
                bends[r * LANE_OTHERS + j] = cap_slope(score);
            if (key < p.mask_cols)
                score = mask_score(view_query(w, row), key, score);
            scores[r * LANE_OTHERS + j] = other < end ? score : MASKED;
        }
    }
}

// Draws what of a step's weights is kept.
void draw(work w, uint first)
{
    uint first_quad = (OWNS_KEYS ? w.first_own : first) / 4, first_row = OWNS_KEYS ? first : w.first_own;
    uint group = p.heads / p.kv_heads;
    [[dont_unroll]] for (uint i = gl_LocalInvocationID.x; i < DRAWN_ROWS * DRAWN_QUADS; i += LOCAL_SIZE) {
        uint row = first_row + i / DRAWN_QUADS;
        uint number = (w.b * p.heads + head_of(w, row)) * p.q_len + row / group;
        uvec4 counter = uvec4(first_quad + i % DRAWN_QUADS, number, p.stream, p.step);
        uvec4 bits = uvec4(dropout_keeps(counter, uvec2(p.seed_low, p.seed_high), p.threshold));
        drawn[i] = bits.x | bits.y << 1 | bits.z << 2 | bits.w << 3;
    }
}

void take_drawn(uint first)
{
    kept = 0;
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
            uint own = local_row(r), other = lane() + LANES * j;
            uint row = OWNS_KEYS ? other : own, key = OWNS_KEYS ? own : first % 4 + other;
            kept |= ((drawn[row * DRAWN_QUADS + key / 4] >> (key % 4)) & 1u) << (r * LANE_OTHERS + j);
        }
    }
}

// What dropout makes of the product that score i stands for.
float dropped(uint i, float value)
{
    if (DROPOUT == 0)
        return value;
    return ((kept >> i) & 1u) != 0u ? value * p.keep_scale : 0.0;
}

#ifdef ATTENTION_TRAIN
// Adds what the lanes of a row have of it.
void add_totals()
{
    barrier();
    [[unroll]] for (uint r = 0; r < EACH; ++r)
        weights[local_row(r) * WEIGHT_STRIDE + lane() / 4][lane() % 4] = total[r];
    barrier();
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        total[r] = 0.0;
        [[unroll]] for (uint i = 0; i < LANES / 4; ++i) {
            vec4 four = weights[local_row(r) * WEIGHT_STRIDE + i];
            total[r] += four.x + four.y + four.z + four.w;
        }
    }
}

// Brings the sums to a maximum that takes in a step's scores. A NaN score compares false and leaves it alone.
void raise_maximum()
{
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        float highest = LOWEST;
        [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
            float score = scores[r * LANE_OTHERS + j];
            highest = score > highest ? score : highest;
        }
        weights[local_row(r) * WEIGHT_STRIDE + lane() / 4][lane() % 4] = highest;
    }
    barrier();
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        float previous = maximum[r];
        [[unroll]] for (uint i = 0; i < LANES / 4; ++i) {
            vec4 four = weights[local_row(r) * WEIGHT_STRIDE + i];
            maximum[r] = max(maximum[r], max(max(four.x, four.y), max(four.z, four.w)));
        }
        float rescale = exp(previous - maximum[r]);
        total[r] *= rescale;
        [[unroll]] for (uint i = 0; i < SECOND_LANE_QUADS; ++i)
            second_sums[r * SECOND_LANE_QUADS + i] *= rescale;
    }
    barrier(); // weights take the maxima's place
}
#endif

// Turns scores into weights, and notes which of the other rows have any.
void weigh(uint first, uint stamp)
{
    [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
        if (OWNS_KEYS)
            load_stats(j, first + lane() + LANES * j);
        bool seen = false;
        [[unroll]] for (uint r = 0; r < EACH; ++r) {
            float score = scores[r * LANE_OTHERS + j];
            float value = weight(score, TRAINS ? maximum[r] : maxima[OWNS_KEYS ? j : r]);
            if (TRAINS)
                total[r] += value;
            else
                value *= factors[OWNS_KEYS ? j : r];
            scores[r * LANE_OTHERS + j] = value;
            seen = seen || floatBitsToUint(value) != 0;
        }
        if (seen)
            atomicMax(seen_step[lane() + LANES * j], stamp); // as invocations with other rows may, too
    }
}

// What a weight of 0 hides may be no number.
void make_gradients()
{
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
            uint i = r * LANE_OTHERS + j;
            float value = scores[i], change = dropped(i, dots[i]) - deltas[OWNS_KEYS ? j : r];
            if (CAPPED && SUMS_FIRST)
                change *= bends[i];
            scores[i] = floatBitsToUint(value) != 0 ? value * change : 0.0;
        }
    }
}

void share_weights(bool drops)
{
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        [[unroll]] for (uint j = 0; j < LANE_OTHERS; ++j) {
            uint other = lane() + LANES * j, i = r * LANE_OTHERS + j;
            weights[local_row(r) * WEIGHT_STRIDE + other / 4][other % 4] = drops ? dropped(i, scores[i]) : scores[i];
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
    if (DROPOUT != 0)
        draw(w, first);
    multiply(w, first, end, 0, FIRST_QUADS);
    if (DROPOUT != 0)
        take_drawn(first);
    mask_scores(w, first, end);
#ifdef ATTENTION_TRAIN
    raise_maximum();
#endif
    weigh(first, stamp);
    if (SUMS_SECOND) {
        share_weights(true);
        second_add(first, end, stamp);
    }
    if (SUMS_FIRST || GIVES_BIAS) {
        multiply(w, first, end, FIRST_QUADS, SECOND_QUADS);
        make_gradients();
    }
    if (SUMS_FIRST) {
        share_weights(false);
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

#ifdef ATTENTION_TRAIN
// Adds all values to the sums of rows that see no key.
void add_all_values()
{
    bool needed = false;
    [[unroll]] for (uint r = 0; r < EACH; ++r)
        needed = needed || total[r] == 0.0;
    uint end = needed ? p.k_len : 0;
    [[dont_unroll]] for (uint key = 0; key < end; ++key) {
        [[unroll]] for (uint i = 0; i < SECOND_LANE_QUADS; ++i) {
            vec4 value = row_quad(other_base + key, FIRST_QUADS + min(lane() + LANES * i, SECOND_QUADS - 1));
            [[unroll]] for (uint r = 0; r < EACH; ++r)
                second_sums[r * SECOND_LANE_QUADS + i] += total[r] == 0.0 ? value : vec4(0.0);
        }
    }
}

// Turns sums into outputs. A row without any key has the factor 0, and follows the rule for such rows once all slices
// have seen none.
void finish_output(work w)
{
    bool last = p.slice + 1 == p.slices;
    add_totals();
    [[unroll]] for (uint i = 0; i < EACH * SECOND_LANE_QUADS; ++i)
        second_sums[i] = total[i / SECOND_LANE_QUADS] == 0.0 ? vec4(0.0) : second_sums[i];
    if (SUMS_SECOND && last && p.fully_masked == VKF_SHADER_FULLY_MASKED_UNIFORM)
        add_all_values();
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        bool hidden = total[r] == 0.0;
        float factor = hidden ? 1.0 / float(p.k_len) : 1.0 / total[r];
        bool none = is_nan(total[r]) || (last && hidden && p.fully_masked == VKF_SHADER_FULLY_MASKED_NAN);
        [[unroll]] for (uint i = 0; i < SECOND_LANE_QUADS; ++i)
            second_sums[r * SECOND_LANE_QUADS + i] =
                none ? vec4(nan_value()) : factor * second_sums[r * SECOND_LANE_QUADS + i];
        uint row = w.first_own + local_row(r);
        if (lane() == 0 && row < query_count()) {
            stats_out_store(p.maxima_first + query_base + row, is_nan(total[r]) ? total[r] : maximum[r]);
            stats_out_store(p.factors_first + query_base + row, hidden ? 0.0 : factor);
        }
    }
}
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

#if !defined(ATTENTION_TRAIN) && !defined(ATTENTION_GRAD_PAIR)
// A step of keys in all batch entries of a slice, but for those that see none of it.
void sum_bias(work w, uint first)
{
    uint last = min(w.first_own + OWN, own_count()) - 1, end_entry = slice_begin(p.batch, p.slice + 1);
    [[unroll]] for (uint i = 0; i < EACH * LANE_OTHERS; ++i)
        bias_sums[i] = 0.0;
    for (w.b = slice_begin(p.batch, p.slice); w.b < end_entry; ++w.b) {
        uvec2 range = visible_columns(view_query(w, w.first_own), view_query(w, last));
        if (first >= range.y || first + STEP <= range.x || !is_packed(w))
            continue;
        start(w);
        take_step(w, first, p.mask_cols, 1);
        [[unroll]] for (uint i = 0; i < EACH * LANE_OTHERS; ++i)
            bias_sums[i] += scores[i] * view_query(w, w.first_own + local_row(i / LANE_OTHERS)).slope;
    }
}

void store_bias(work w, uint first)
{
    [[unroll]] for (uint i = 0; i < EACH * LANE_OTHERS; ++i) {
        uint row = w.first_own + local_row(i / LANE_OTHERS), key = first + lane() + LANES * (i % LANE_OTHERS);
        uint at = first_element(w, row, 0, p.out_row, p.out_head) + key;
        if (row < own_count() && key < p.mask_cols)
            out_store(at, bias_sums[i] + (p.adds != 0 ? out_load(at) : 0.0));
    }
}

void give_bias(work w)
{
    uint first = w.b * STEP;
    if (first >= p.mask_cols)
        return;
    sum_bias(w, first);
    store_bias(w, first);
}
#endif

void main()
{
    work w = view_work(group_index(), GIVES_BIAS ? 0 : p.first_key_head);
#if !defined(ATTENTION_TRAIN) && !defined(ATTENTION_GRAD_PAIR)
    if (GIVES_BIAS) {
        give_bias(w);
        return;
    }
#endif
    if (!is_packed(w))
        return;
    start(w);
    walk(w);
#ifdef ATTENTION_TRAIN
    finish_output(w);
#endif
    [[unroll]] for (uint r = 0; r < EACH; ++r) {
        if (w.first_own + local_row(r) < own_count())
            store_row(w, r);
    }
}

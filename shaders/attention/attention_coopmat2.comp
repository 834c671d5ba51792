// Attention with a running softmax in the registers of cooperative matrices, by the reductions, conversions and
// operations per element of NV_cooperative_matrix2; semantics in shared/attention.h. Products of 16-bit floats are
// summed in float32; the softmax is in float32, and its weights are rounded to 16 bits.
//
// A subgroup has ROWS rows, whose queries, scores and sums are fragments in its registers. The workgroup walks the
// keys, KEYS at a time, and only keys and values go to shared memory. A step has two barriers, and its loads are on
// their way as in attention_coopmat.comp.
//
// Rows are columns of the matrices: scores are keys by queries, and sums are values by queries. So a maximum is that of
// a column, and what the values are multiplied by is b. On AMD's GPUs a lane has elements of one column of a sum and of
// one column of b: a maximum takes one exchange between lanes, and weights become b by one more or, on RDNA 4, by none.
// Rows of a would be transposed through all lanes.
//
// Scores are in units of ln 2, so that a weight is a power of two of a difference. With a mask that is added, and with
// any SCORE_FORM, they are as they are, because the lowest number has no place in those units. A weight is 0 where the
// score is MASKED, even in a row that has seen no key. NaN or +inf makes a weight NaN, and with it the row.
//
// A subgroup rescales its sums only in steps where the maximum of some row rises by more than RISE over the score that
// weights are relative to (see attention_coopmat.comp). Each decides by itself: no barrier is in the way.
//
// Invariants (the registry checks them): 8 divides every FRAGMENT_*; FRAGMENT_N divides ROWS; FRAGMENT_M is FRAGMENT_K
// and divides KEYS, because fragments of scores become fragments of weights; KEYS is 32 at least; the local size is
// SUBGROUPS whole subgroups; the pool fits into shared memory; with splits > 1, PARTIAL is set and out is f32.
// Grid: one workgroup per ROWS * SUBGROUPS rows of a key head, split, key head and batch entry, in any fold of two
// dimensions: ceil(q_len * heads / kv_heads / (ROWS * SUBGROUPS)) * splits * kv_heads * batch workgroups.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_NV_cooperative_matrix2 : require
#pragma use_vulkan_memory_model

#define TYPE_A TYPE_Q
#define TYPE_B TYPE_KV
#include "include/storage.glsl"
#include "shared/attention_coopmat.h"
#include "include/grid.glsl"
#include "include/math.glsl"
#include "include/matrix.glsl"

layout(constant_id = VKF_ATTENTION_COOPMAT_SPEC_ROWS) const uint ROWS = 32;
layout(constant_id = VKF_ATTENTION_SPEC_KEYS) const uint KEYS = 32;
layout(constant_id = VKF_ATTENTION_COOPMAT_SPEC_SUBGROUPS) const uint SUBGROUPS = 4;
layout(constant_id = VKF_ATTENTION_SPEC_HEAD_DIM) const uint HEAD_DIM = 64;
layout(constant_id = VKF_ATTENTION_SPEC_V_HEAD_DIM) const uint V_HEAD_DIM = 64;
layout(constant_id = VKF_ATTENTION_SPEC_MASK_KIND) const uint MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_SPEC_KEY_MASK_KIND) const uint KEY_MASK_KIND = 0;
layout(constant_id = VKF_ATTENTION_SPEC_CAUSAL) const uint CAUSAL = 0;
layout(constant_id = VKF_ATTENTION_SPEC_WINDOW) const uint WINDOW = 0;
layout(constant_id = VKF_ATTENTION_SPEC_SCORE_FORM) const uint SCORE_FORM = 0;
layout(constant_id = VKF_ATTENTION_SPEC_FULLY_MASKED) const uint FULLY_MASKED = 0;
layout(constant_id = VKF_ATTENTION_SPEC_PARTIAL) const uint PARTIAL = 0;
layout(constant_id = VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_M) const uint FRAGMENT_M = 16;
layout(constant_id = VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_N) const uint FRAGMENT_N = 16;
layout(constant_id = VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_K) const uint FRAGMENT_K = 16;

// Lines serve before the first step and after the last, in the place of keys and values.
const uint LINE = LARGER(FRAGMENT_K / 8, FRAGMENT_M / 4) + 1;
#define VALUE_SIDE FRAGMENT_M
#define LINES_FIRST 0
#define POOL_UNITS LARGER(STEP_UNITS, SUBGROUPS * ROWS * LINE)
#include "include/attention_matrix.glsl"

const uint ROW_FRAGMENTS = ROWS / FRAGMENT_N;
const uint KEY_FRAGMENTS = KEYS / FRAGMENT_M;

const float LOG2_E = 1.4426950408889634;
const bool ADDED = MASK_KIND == VKF_SHADER_MASK_ADDITIVE || KEY_MASK_KIND == VKF_SHADER_MASK_ADDITIVE ||
                   SCORE_FORM != 0;
#define SCORE_UNIT (ADDED ? 1.0 : LOG2_E) // what a score is multiplied by
#define POWER_UNIT (ADDED ? LOG2_E : 1.0) // what a difference is then multiplied by
#define RISE (ADDED ? 5.0 : 5.0 * LOG2_E)

#define KEY_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_K, gl_MatrixUseA>
#define ROW_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, FRAGMENT_K, FRAGMENT_N, gl_MatrixUseB>
#define SUM_MATRIX coopmat<float, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_N, gl_MatrixUseAccumulator>

ROW_MATRIX query[ROW_FRAGMENTS * DEPTH_FRAGMENTS];
SUM_MATRIX scores[ROW_FRAGMENTS * KEY_FRAGMENTS]; // of the step; then weights
SUM_MATRIX sums[ROW_FRAGMENTS * VALUE_FRAGMENTS]; // of weighted values, relative to maximum
SUM_MATRIX maximum[ROW_FRAGMENTS]; // in every element of a column, as of the last time that it rose by more than RISE
SUM_MATRIX total[ROW_FRAGMENTS];   // of the weights, those of a column in any of its elements
work own; // read by functions of an element, which take no structs: at these RADV of Mesa 26.2 crashes

// Loads the queries through the lines, FRAGMENT_K elements of each at a time.
void load_queries()
{
    [[unroll]] for (uint j = 0; j < DEPTH_FRAGMENTS; ++j) {
        stage_queries(own, j * FRAGMENT_K);
        subgroupBarrier();
        [[unroll]] for (uint i = 0; i < ROW_FRAGMENTS; ++i)
            coopMatLoad(query[i * DEPTH_FRAGMENTS + j], pool, row_line(i * FRAGMENT_N), LINE,
                        gl_CooperativeMatrixLayoutColumnMajor);
        subgroupBarrier();
    }
}

float begun_maximum(const in uint i, const in uint row, const in float unused, const in uint first_row)
{
    return start_softmax(view_row(own, first_row + row).h, own.split == 0).x;
}

// In one element of a column, as the others are added to it.
float begun_total(const in uint i, const in uint row, const in float unused, const in uint first_row)
{
    return start_softmax(view_row(own, first_row + row).h, own.split == 0 && i == 0).y;
}

float capped_score(const in uint key, const in uint row, const in float score)
{
    return cap_score(score);
}

void start_rows()
{
    [[unroll]] for (uint i = 0; i < ROW_FRAGMENTS * VALUE_FRAGMENTS; ++i)
        sums[i] = SUM_MATRIX(0.0);
    [[unroll]] for (uint i = 0; i < ROW_FRAGMENTS; ++i) {
        maximum[i] = SUM_MATRIX(LOWEST);
        total[i] = SUM_MATRIX(0.0);
        if (SUNK) {
            uint first_row = subgroup_row(own) + i * FRAGMENT_N;
            coopMatPerElementNV(maximum[i], maximum[i], begun_maximum, first_row);
            coopMatPerElementNV(total[i], total[i], begun_total, first_row);
        }
    }
}

void score_keys(float scale)
{
    [[unroll]] for (uint n = 0; n < KEY_FRAGMENTS; ++n) {
        [[unroll]] for (uint i = 0; i < ROW_FRAGMENTS; ++i)
            scores[i * KEY_FRAGMENTS + n] = SUM_MATRIX(0.0);
        [[unroll]] for (uint j = 0; j < DEPTH_FRAGMENTS; ++j) {
            KEY_MATRIX fragment;
            coopMatLoad(fragment, pool, n * FRAGMENT_M * K_STRIDE + j * FRAGMENT_K / CHUNK, K_STRIDE,
                        gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint i = 0; i < ROW_FRAGMENTS; ++i)
                scores[i * KEY_FRAGMENTS + n] =
                    coopMatMulAdd(fragment, query[i * DEPTH_FRAGMENTS + j], scores[i * KEY_FRAGMENTS + n]);
        }
    }
    [[unroll]] for (uint f = 0; f < ROW_FRAGMENTS * KEY_FRAGMENTS; ++f)
        scores[f] *= scale;
    [[unroll]] for (uint f = 0; f < ROW_FRAGMENTS * KEY_FRAGMENTS; ++f) {
        if (CAPPED)
            coopMatPerElementNV(scores[f], scores[f], capped_score);
    }
}

// A score under the masks, in their unit; it stands at this place of a fragment that begins with that key and row.
float masked_score(const in uint key, const in uint row, const in float score, const in uint first_key,
                   const in uint first_row, const in uint end, const in bool masked)
{
    uint at = first_key + key;
    float seen = score;
    if (masked && at < end)
        seen = mask_score(view_row(own, first_row + row).mask, at, score);
    return at >= end ? MASKED : seen * SCORE_UNIT;
}

void mask_scores(key_range range)
{
    [[unroll]] for (uint f = 0; f < ROW_FRAGMENTS * KEY_FRAGMENTS; ++f)
        coopMatPerElementNV(scores[f], scores[f], masked_score, range.first + f % KEY_FRAGMENTS * FRAGMENT_M,
                            subgroup_row(own) + f / KEY_FRAGMENTS * FRAGMENT_N, range.end, range.masked);
}

// Either of a number and NaN: the row becomes NaN then, whatever its maximum.
float larger_of(const in float a, const in float b)
{
    return max(a, b);
}

float larger(const in uint i, const in uint j, const in float a, const in float b)
{
    return max(a, b);
}

float sum_of(const in float a, const in float b)
{
    return a + b;
}

float risen(const in uint i, const in uint j, const in float highest, const in float old)
{
    return highest - old > RISE ? highest : old;
}

float power_of_two(const in uint i, const in uint j, const in float x)
{
    return exp2(x * POWER_UNIT);
}

// The highest score of each row in this step, in every element of its column.
SUM_MATRIX highest_scores(uint i)
{
    SUM_MATRIX highest = scores[i * KEY_FRAGMENTS];
    [[unroll]] for (uint n = 1; n < KEY_FRAGMENTS; ++n)
        coopMatPerElementNV(highest, highest, larger, scores[i * KEY_FRAGMENTS + n]);
    coopMatReduceNV(highest, highest, gl_CooperativeMatrixReduceColumnNV, larger_of);
    return highest;
}

// Whether some maximum rises by more than RISE.
bool rises(SUM_MATRIX highest, SUM_MATRIX old)
{
    bool some = false;
    [[unroll]] for (uint e = 0; e < highest.length(); ++e)
        some = some || highest[e] - old[e] > RISE;
    return subgroupOr(some);
}

void rescale_sums(uint i, SUM_MATRIX highest)
{
    SUM_MATRIX factors;
    coopMatPerElementNV(highest, highest, risen, maximum[i]);
    coopMatPerElementNV(factors, maximum[i] - highest, power_of_two);
    maximum[i] = highest;
    total[i] *= factors;
    [[unroll]] for (uint n = 0; n < VALUE_FRAGMENTS; ++n)
        sums[i * VALUE_FRAGMENTS + n] *= factors;
}

void weigh_keys()
{
    [[unroll]] for (uint i = 0; i < ROW_FRAGMENTS; ++i) {
        SUM_MATRIX highest = highest_scores(i);
        if (rises(highest, maximum[i]))
            rescale_sums(i, highest);
        [[unroll]] for (uint n = 0; n < KEY_FRAGMENTS; ++n) {
            const uint f = i * KEY_FRAGMENTS + n;
            coopMatPerElementNV(scores[f], scores[f] - maximum[i], power_of_two);
            total[i] += scores[f];
        }
    }
}

void add_values()
{
    [[unroll]] for (uint j = 0; j < KEY_FRAGMENTS; ++j) {
        ROW_MATRIX weights[ROW_FRAGMENTS];
        [[unroll]] for (uint i = 0; i < ROW_FRAGMENTS; ++i)
            weights[i] = ROW_MATRIX(scores[i * KEY_FRAGMENTS + j]);
        [[unroll]] for (uint n = 0; n < VALUE_FRAGMENTS; ++n) {
            KEY_MATRIX fragment;
            coopMatLoad(fragment, pool, V_FIRST + n * V_FRAGMENT + j * FRAGMENT_K / CHUNK, V_STRIDE,
                        gl_CooperativeMatrixLayoutRowMajor);
            [[unroll]] for (uint i = 0; i < ROW_FRAGMENTS; ++i)
                sums[i * VALUE_FRAGMENTS + n] =
                    coopMatMulAdd(fragment, weights[i], sums[i * VALUE_FRAGMENTS + n]);
        }
    }
}

void attend()
{
    mask_view first_row = view_row(own, own.first_row).mask;
    mask_view last_row = view_row(own, own.first_row + BLOCK_ROWS - 1).mask;
    uvec2 columns = visible_columns(first_row, last_row);
    uint steps = count_steps(columns);
    uint begin = split_begin(steps, own.split);
    uint end = split_begin(steps, own.split + 1);
    if (begin < end)
        fetch_keys(own, keys_of_step(columns, begin));
    for (uint step = begin; step < end; ++step) {
        key_range range = keys_of_step(columns, step);
        bool checked = needs_check(first_row, last_row, range);
        keep_keys();
        barrier();
        fetch_values(own, range);
        score_keys(checked ? p.scale : p.scale * SCORE_UNIT);
        keep_values();
        if (step + 1 < end)
            fetch_keys(own, keys_of_step(columns, step + 1));
        if (checked)
            mask_scores(range);
        weigh_keys();
        barrier();
        add_values();
    }
}

// Leaves a row's total and maximum in its line.
float keep_state(const in uint i, const in uint row, const in float row_total, const in float row_maximum,
                 const in uint first_row)
{
    if (i == 0)
        pool[row_line(first_row + row) + LINE - 1].xy = floatBitsToUint(vec2(row_total, row_maximum / SCORE_UNIT));
    return row_total;
}

// Stores the sums through the lines, FRAGMENT_M columns at a time. The compiler must know which of the sums each step
// stores, or all of them end in memory; and only loops without a loop inside are sure to be unrolled.
void store_rows()
{
    [[unroll]] for (uint i = 0; i < ROW_FRAGMENTS; ++i) {
        coopMatReduceNV(total[i], total[i], gl_CooperativeMatrixReduceColumnNV, sum_of);
        coopMatPerElementNV(total[i], total[i], keep_state, maximum[i], i * FRAGMENT_N);
    }
    [[dont_unroll]] for (uint n = 0; n < VALUE_FRAGMENTS; ++n) {
        [[unroll]] for (uint f = 0; f < ROW_FRAGMENTS * VALUE_FRAGMENTS; ++f) {
            if (f % VALUE_FRAGMENTS == n)
                coopMatStore(sums[f], pool, row_line(f / VALUE_FRAGMENTS * FRAGMENT_N), LINE,
                             gl_CooperativeMatrixLayoutColumnMajor);
        }
        subgroupBarrier();
        store_columns(own, n);
        subgroupBarrier();
    }
}

void main()
{
    own = view_work(group_index());
    if (own.b >= p.batch)
        return;
    start_rows();
    load_queries();
    barrier();
    attend();
    barrier();
    store_rows();
}

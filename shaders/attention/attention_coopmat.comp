// Attention with a running softmax on the cooperative matrices of KHR_cooperative_matrix; semantics in
// shared/attention.h. Products of 16-bit floats are summed in float32; the softmax is in float32, and its weights are
// rounded to 16 bits.
//
// A subgroup has ROWS rows, whose queries and sums are fragments in its registers. The workgroup walks the keys, KEYS
// at a time: keys and values go to shared memory. Each subgroup then multiplies its queries by the keys, puts the
// scores into its own lines of shared memory, turns them into weights there, several lanes to a row, and multiplies the
// weights by the values.
//
// A step has two barriers. Its values are on their way from memory while the scores are computed, and the next step's
// keys during the softmax and the product with the values.
//
// Sums are rescaled, which takes a pass over all of them, only in steps where the maximum of some row of the workgroup
// rises by more than RISE over the score that weights are relative to. Until then weights are up to exp(RISE) = 148,
// far from what 16 bits hold, and no less precise: it is the same softmax, because total and sums are relative to the
// same score. All subgroups do so together, because on lavapipe a barrier of a subgroup is one of the workgroup.
//
// Invariants (the registry checks them): 8 divides every FRAGMENT_*; FRAGMENT_M divides ROWS; FRAGMENT_N and
// FRAGMENT_K divide KEYS; ROWS, KEYS and the subgroup's size are powers of two, and KEYS is 32 at least; the local size
// is SUBGROUPS whole subgroups; the pool and the number below fit into shared memory; with splits > 1, PARTIAL is set
// and out is f32.
// Grid: one workgroup per ROWS * SUBGROUPS rows of a key head, split, key head and batch entry, in any fold of two
// dimensions: ceil(q_len * heads / kv_heads / (ROWS * SUBGROUPS)) * splits * kv_heads * batch workgroups.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
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

// A row's line holds KEYS scores. These are then overwritten by KEYS weights of 16 bits and, in FRAGMENT_N copies, the
// factor that brings the row's earlier sums to a new maximum. By the last unit the lanes of a row tell each other what
// they found in their parts.
const uint WEIGHT_UNITS = KEYS / 8;
const uint SCORE_UNITS = KEYS / 4;
const uint LATER_UNITS = WEIGHT_UNITS + FRAGMENT_N / 4;
const uint LINE = LARGER(SCORE_UNITS, LATER_UNITS) + 1;
#define VALUE_SIDE FRAGMENT_N
#define LINES_FIRST STEP_UNITS
#define POOL_UNITS (STEP_UNITS + SUBGROUPS * ROWS * LINE)
#include "include/attention_matrix.glsl"

// In the softmax PARTS lanes share a row, each with a part of its keys, and a lane has LANE_ROWS rows, PASS_ROWS apart.
// Lanes beyond those that find a row are idle. Where there are fewer lanes than rows, which costs little, two share a
// row as well: so the software rasteriser of the tests runs it.
const uint PARTS = LANES >= 4 * ROWS ? 4 : LANES == ROWS ? 1 : 2;
const uint PASS_ROWS = LANES / PARTS < ROWS ? LANES / PARTS : ROWS;
const uint LANE_ROWS = ROWS / PASS_ROWS;
const uint FRAGMENTS_M = ROWS / FRAGMENT_M;
const uint PART_UNITS = SCORE_UNITS / PARTS;

shared uint rescaled_step; // the last one, counted from 1, in which sums have to be rescaled

const float RISE = 5.0;

#define A_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_K, gl_MatrixUseA>
#define B_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, FRAGMENT_K, FRAGMENT_N, gl_MatrixUseB>
#define SUM_MATRIX coopmat<float, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_N, gl_MatrixUseAccumulator>

A_MATRIX query[FRAGMENTS_M * DEPTH_FRAGMENTS];
SUM_MATRIX sums[FRAGMENTS_M * VALUE_FRAGMENTS]; // of weighted values, relative to maximum
float maximum[LANE_ROWS]; // as of the last time that it rose by more than RISE
float rescale[LANE_ROWS]; // what brings earlier sums to it
float total[LANE_ROWS];   // of the weights of the lane's part
mask_view views[LANE_ROWS];

uint lane_row(uint o)
{
    return o * PASS_ROWS + LANE % PASS_ROWS;
}

// From PARTS on: none, for an idle lane.
uint lane_part()
{
    return LANE / PASS_ROWS;
}

// Loads the queries through the lines, FRAGMENT_K elements of each at a time.
void load_queries(work w)
{
    [[unroll]] for (uint j = 0; j < DEPTH_FRAGMENTS; ++j) {
        stage_queries(w, j * FRAGMENT_K);
        subgroupBarrier();
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
            coopMatLoad(query[i * DEPTH_FRAGMENTS + j], pool, row_line(i * FRAGMENT_M), LINE,
                        gl_CooperativeMatrixLayoutRowMajor);
        subgroupBarrier();
    }
}

void start_rows(work w)
{
    [[unroll]] for (uint i = 0; i < FRAGMENTS_M * VALUE_FRAGMENTS; ++i)
        sums[i] = SUM_MATRIX(0.0);
    [[unroll]] for (uint o = 0; o < LANE_ROWS; ++o) {
        row_view view = view_row(w, subgroup_row(w) + lane_row(o));
        views[o] = view.mask;
        vec2 begun = start_softmax(view.h, w.split == 0);
        maximum[o] = begun.x;
        total[o] = lane_part() == 0 ? begun.y : 0.0;
    }
    if (gl_LocalInvocationID.x == 0)
        rescaled_step = 0;
}

void score_keys()
{
    [[unroll]] for (uint n = 0; n < KEYS / FRAGMENT_N; ++n) {
        SUM_MATRIX scores[FRAGMENTS_M];
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
            scores[i] = SUM_MATRIX(0.0);
        [[unroll]] for (uint j = 0; j < DEPTH_FRAGMENTS; ++j) {
            B_MATRIX fragment;
            coopMatLoad(fragment, pool, n * FRAGMENT_N * K_STRIDE + j * FRAGMENT_K / CHUNK, K_STRIDE,
                        gl_CooperativeMatrixLayoutColumnMajor);
            [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
                scores[i] = coopMatMulAdd(query[i * DEPTH_FRAGMENTS + j], fragment, scores[i]);
        }
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
            coopMatStore(scores[i], pool, row_line(i * FRAGMENT_M) + n * FRAGMENT_N / 4, LINE,
                         gl_CooperativeMatrixLayoutRowMajor);
    }
}

// The first PARTS of these are what the lanes of a row tell. The subgroup's lanes have all come this far.
vec4 tell(uint line, float value)
{
    if (lane_part() < PARTS)
        pool[line + LINE - 1][lane_part()] = floatBitsToUint(value);
    subgroupBarrier();
    return uintBitsToFloat(pool[line + LINE - 1]);
}

// The lane's part of a row's scores, scaled and masked. A NaN score compares false and leaves the highest alone.
float read_scores(uint o, uint line, uint from, key_range range, bool checked, out vec4 scores[PART_UNITS])
{
    float highest = LOWEST;
    [[unroll]] for (uint unit = 0; unit < PART_UNITS; ++unit) {
        vec4 four = uintBitsToFloat(pool[line + from + unit]) * p.scale;
        [[unroll]] for (uint c = 0; c < 4; ++c)
            four[c] = cap_score(four[c]);
        if (checked) {
            [[unroll]] for (uint c = 0; c < 4; ++c) {
                uint key = range.first + (from + unit) * 4 + c;
                if (range.masked && key < range.end)
                    four[c] = mask_score(views[o], key, four[c]);
                four[c] = key < range.end ? four[c] : MASKED;
            }
        }
        scores[unit] = four;
        [[unroll]] for (uint c = 0; c < 4; ++c)
            highest = four[c] > highest ? four[c] : highest;
    }
    return highest;
}

// Turns a lane's part of the scores of a row into weights, which overwrite scores that all lanes of the row have read.
void weigh_row(uint o, uint step, key_range range, bool checked)
{
    uint line = row_line(lane_row(o));
    uint part = lane_part() % PARTS;
    vec4 scores[PART_UNITS];
    float highest = read_scores(o, line, part * PART_UNITS, range, checked, scores);
    if (PARTS > 1) {
        vec4 parts = tell(line, highest);
        [[unroll]] for (uint i = 0; i < PARTS; ++i)
            highest = max(highest, parts[i]); // never NaN
    }
    bool rises = highest - maximum[o] > RISE;
    rescale[o] = rises ? exp(maximum[o] - highest) : 1.0;
    maximum[o] = rises ? highest : maximum[o];
    if (rises)
        atomicMax(rescaled_step, step + 1, gl_ScopeWorkgroup, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    float sum = total[o] * rescale[o];
    [[unroll]] for (uint unit = 0; unit < PART_UNITS; ++unit) {
        [[unroll]] for (uint c = 0; c < 4; ++c) {
            scores[unit][c] = weight(scores[unit][c], maximum[o]);
            sum += scores[unit][c];
        }
    }
    total[o] = sum;
    [[unroll]] for (uint unit = 0; unit < PART_UNITS / 2; ++unit) {
        uvec4 low = floatBitsToUint(scores[2 * unit]);
        uvec4 high = floatBitsToUint(scores[2 * unit + 1]);
        if (lane_part() < PARTS)
            pool[line + part * (PART_UNITS / 2) + unit] = uvec4(narrow_pair(low.x, low.y), narrow_pair(low.z, low.w),
                                                                narrow_pair(high.x, high.y),
                                                                narrow_pair(high.z, high.w));
    }
}

void weigh_keys(uint step, key_range range, bool checked)
{
    [[unroll]] for (uint o = 0; o < LANE_ROWS; ++o)
        weigh_row(o, step, range, checked);
}

void rescale_sums()
{
    [[unroll]] for (uint o = 0; o < LANE_ROWS; ++o) {
        if (lane_part() == 0) {
            [[unroll]] for (uint unit = 0; unit < FRAGMENT_N / 4; ++unit)
                pool[row_line(lane_row(o)) + WEIGHT_UNITS + unit] = uvec4(floatBitsToUint(rescale[o]));
        }
    }
    subgroupBarrier();
    [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i) {
        SUM_MATRIX factors;
        coopMatLoad(factors, pool, row_line(i * FRAGMENT_M) + WEIGHT_UNITS, LINE,
                    gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint n = 0; n < VALUE_FRAGMENTS; ++n)
            sums[i * VALUE_FRAGMENTS + n] *= factors;
    }
}

void add_values()
{
    [[unroll]] for (uint j = 0; j < KEYS / FRAGMENT_K; ++j) {
        A_MATRIX weights[FRAGMENTS_M];
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
            coopMatLoad(weights[i], pool, row_line(i * FRAGMENT_M) + j * FRAGMENT_K / CHUNK, LINE,
                        gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint n = 0; n < VALUE_FRAGMENTS; ++n) {
            B_MATRIX fragment;
            coopMatLoad(fragment, pool, V_FIRST + n * V_FRAGMENT + j * FRAGMENT_K / CHUNK, V_STRIDE,
                        gl_CooperativeMatrixLayoutColumnMajor);
            [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
                sums[i * VALUE_FRAGMENTS + n] =
                    coopMatMulAdd(weights[i], fragment, sums[i * VALUE_FRAGMENTS + n]);
        }
    }
}

void attend(work w)
{
    mask_view first_row = view_row(w, w.first_row).mask;
    mask_view last_row = view_row(w, w.first_row + BLOCK_ROWS - 1).mask;
    uvec2 columns = visible_columns(first_row, last_row);
    uint steps = count_steps(columns);
    uint begin = split_begin(steps, w.split);
    uint end = split_begin(steps, w.split + 1);
    if (begin < end)
        fetch_keys(w, keys_of_step(columns, begin));
    for (uint step = begin; step < end; ++step) {
        key_range range = keys_of_step(columns, step);
        keep_keys();
        barrier();
        fetch_values(w, range);
        score_keys();
        keep_values();
        if (step + 1 < end)
            fetch_keys(w, keys_of_step(columns, step + 1));
        subgroupBarrier();
        weigh_keys(step, range, needs_check(first_row, last_row, range));
        barrier();
        if (rescaled_step == step + 1)
            rescale_sums();
        add_values();
    }
}

// Stores the sums through the lines, FRAGMENT_N columns at a time. The compiler must know which of the sums each step
// stores, or all of them end in memory; and only loops without a loop inside are sure to be unrolled.
void store_rows(work w)
{
    [[unroll]] for (uint o = 0; o < LANE_ROWS; ++o) {
        vec4 parts = tell(row_line(lane_row(o)), total[o]);
        float row_total = parts[0];
        [[unroll]] for (uint i = 1; i < PARTS; ++i)
            row_total += parts[i];
        subgroupBarrier();
        if (lane_part() == 0)
            pool[row_line(lane_row(o)) + LINE - 1] = floatBitsToUint(vec4(row_total, maximum[o], 0.0, 0.0));
    }
    [[dont_unroll]] for (uint n = 0; n < VALUE_FRAGMENTS; ++n) {
        [[unroll]] for (uint f = 0; f < FRAGMENTS_M * VALUE_FRAGMENTS; ++f) {
            if (f % VALUE_FRAGMENTS == n)
                coopMatStore(sums[f], pool, row_line(f / VALUE_FRAGMENTS * FRAGMENT_M), LINE,
                             gl_CooperativeMatrixLayoutRowMajor);
        }
        subgroupBarrier();
        store_columns(w, n);
        subgroupBarrier();
    }
}

void main()
{
    work w = view_work(group_index());
    if (w.b >= p.batch)
        return;
    start_rows(w);
    load_queries(w);
    attend(w);
    store_rows(w);
}

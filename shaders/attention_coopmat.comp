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
layout(constant_id = VKF_ATTENTION_SPEC_FULLY_MASKED) const uint FULLY_MASKED = 0;
layout(constant_id = VKF_ATTENTION_SPEC_PARTIAL) const uint PARTIAL = 0;
layout(constant_id = VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_M) const uint FRAGMENT_M = 16;
layout(constant_id = VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_N) const uint FRAGMENT_N = 16;
layout(constant_id = VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_K) const uint FRAGMENT_K = 16;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_params p; };
layout(push_constant) uniform offsets_block {
    uint q_offset, k_offset, v_offset, out_offset, mask_offset, key_mask_offset;
};

READ_WIDE(VKF_ATTENTION_BINDING_Q, q)
READ_CHUNKS(VKF_ATTENTION_BINDING_K, k)
READ_CHUNKS(VKF_ATTENTION_BINDING_V, v)
WRITE(TYPE_OUT, VKF_ATTENTION_BINDING_OUT, out)
READ(bytes, VKF_ATTENTION_BINDING_MASK, mask)
READ(bytes, VKF_ATTENTION_BINDING_KEY_MASK, key_mask)

#include "include/mask.glsl"

const uint LANES = gl_WorkGroupSize.x / SUBGROUPS;
// In the softmax PARTS lanes share a row, each with a part of its keys, and a lane has LANE_ROWS rows, PASS_ROWS apart.
// Lanes beyond those that find a row are idle. Where there are fewer lanes than rows, which costs little, two share a
// row as well: so the software rasteriser of the tests runs it.
const uint PARTS = LANES >= 4 * ROWS ? 4 : LANES == ROWS ? 1 : 2;
const uint PASS_ROWS = LANES / PARTS < ROWS ? LANES / PARTS : ROWS;
const uint LANE_ROWS = ROWS / PASS_ROWS;
const uint FRAGMENTS_M = ROWS / FRAGMENT_M;
const uint DEPTH_FRAGMENTS = (HEAD_DIM + FRAGMENT_K - 1) / FRAGMENT_K;
const uint VALUE_FRAGMENTS = (V_HEAD_DIM + FRAGMENT_N - 1) / FRAGMENT_N;

// Head dims are padded with zeros to whole fragments; one chunk more per line against bank conflicts.
const uint K_CHUNKS = DEPTH_FRAGMENTS * FRAGMENT_K / CHUNK;
const uint K_STRIDE = K_CHUNKS + 1;
const uint V_CHUNKS = VALUE_FRAGMENTS * FRAGMENT_N / CHUNK;

// Values are transposed on their way: a line holds a column of a step, so that what a lane multiplies at once lies side
// by side. Where lines are columns of memory, RADV loads each of a fragment's elements by itself. A fragment has one
// chunk more, because lanes write to lines that are eight apart.
const uint V_STRIDE = KEYS / CHUNK + 1;
const uint V_FRAGMENT = FRAGMENT_N * V_STRIDE + 1;

// A row's line, in units of 16 bytes, holds KEYS scores. These are then overwritten by KEYS weights of 16 bits and, in
// FRAGMENT_N copies, the factor that brings the row's earlier sums to a new maximum. By the last unit the lanes of a
// row tell each other what they found in their parts.
const uint WEIGHT_UNITS = KEYS / 8;
const uint SCORE_UNITS = KEYS / 4;
const uint LATER_UNITS = WEIGHT_UNITS + FRAGMENT_N / 4;
const uint LINE = LARGER(SCORE_UNITS, LATER_UNITS) + 1;
const uint PART_UNITS = SCORE_UNITS / PARTS;

const uint V_FIRST = KEYS * K_STRIDE;
const uint LINES_FIRST = V_FIRST + VALUE_FRAGMENTS * V_FRAGMENT;
shared uvec4 pool[LINES_FIRST + SUBGROUPS * ROWS * LINE];
shared uint rescaled_step; // the last one, counted from 1, in which sums have to be rescaled

const uint K_STEPS = (KEYS * K_CHUNKS + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint V_PAIRS = KEYS / 2 * V_CHUNKS; // of chunks, of two keys that follow each other
const uint V_STEPS = (V_PAIRS + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;

const float RISE = 5.0;

#define A_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_K, gl_MatrixUseA>
#define B_MATRIX coopmat<ELEMENT, gl_ScopeSubgroup, FRAGMENT_K, FRAGMENT_N, gl_MatrixUseB>
#define SUM_MATRIX coopmat<float, gl_ScopeSubgroup, FRAGMENT_M, FRAGMENT_N, gl_MatrixUseAccumulator>

// What the subgroup works on.
struct work {
    uint b;
    uint kv_head;
    uint split;
    uint first_row;       // of the subgroup
    uint workgroup_first; // of the workgroup
    uint lines;           // the subgroup's, in the pool
};

struct row_view {
    uint h;
    uint l;
    mask_view mask;
};

A_MATRIX query[FRAGMENTS_M * DEPTH_FRAGMENTS];
SUM_MATRIX sums[FRAGMENTS_M * VALUE_FRAGMENTS]; // of weighted values, relative to maximum
float maximum[LANE_ROWS]; // as of the last time that it rose by more than RISE
float rescale[LANE_ROWS]; // what brings earlier sums to it
float total[LANE_ROWS];   // of the weights of the lane's part
mask_view views[LANE_ROWS];
uvec4 keys[K_STEPS]; // on their way to shared memory
uvec4 values[2 * V_STEPS];

// Blocks of rows run backwards: under the causal mask the longest come first.
work view_work(uint index)
{
    uint group = p.heads / p.kv_heads;
    uint block_rows = ROWS * SUBGROUPS;
    uint blocks = (p.q_len * group + block_rows - 1) / block_rows;
    work w;
    w.workgroup_first = (blocks - 1 - index % blocks) * block_rows;
    w.first_row = w.workgroup_first + gl_SubgroupID * ROWS;
    w.lines = LINES_FIRST + gl_SubgroupID * ROWS * LINE;
    index /= blocks;
    w.split = index % p.splits;
    index /= p.splits;
    w.kv_head = index % p.kv_heads;
    w.b = index / p.kv_heads;
    return w;
}

row_view view_row(work w, uint row)
{
    uint group = p.heads / p.kv_heads;
    row = min(row, p.q_len * group - 1);
    row_view view;
    view.l = row / group;
    view.h = w.kv_head * group + row % group;
    view.mask = view_mask(w.b, view.h, view.l);
    return view;
}

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
    const uint CHUNKS = FRAGMENT_K / CHUNK;
    [[unroll]] for (uint j = 0; j < DEPTH_FRAGMENTS; ++j) {
        [[unroll]] for (uint step = 0; step < (ROWS * CHUNKS + LANES - 1) / LANES; ++step) {
            uint i = step * LANES + LANE;
            row_view view = view_row(w, w.first_row + i / CHUNKS);
            uint first = w.b * p.q_batch + view.l * p.q_row + view.h * p.q_head;
            uint at = j * FRAGMENT_K + i % CHUNKS * CHUNK;
            if (i < ROWS * CHUNKS)
                pool[w.lines + i / CHUNKS * LINE + i % CHUNKS] = NARROW(q_fetch(first, 0, 0, at, 1, HEAD_DIM));
        }
        subgroupBarrier();
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
            coopMatLoad(query[i * DEPTH_FRAGMENTS + j], pool, w.lines + i * FRAGMENT_M * LINE, LINE,
                        gl_CooperativeMatrixLayoutRowMajor);
        subgroupBarrier();
    }
}

void start_rows(work w)
{
    [[unroll]] for (uint i = 0; i < FRAGMENTS_M * VALUE_FRAGMENTS; ++i)
        sums[i] = SUM_MATRIX(0.0);
    [[unroll]] for (uint o = 0; o < LANE_ROWS; ++o) {
        views[o] = view_row(w, w.first_row + lane_row(o)).mask;
        maximum[o] = LOWEST;
        total[o] = 0.0;
    }
    if (gl_LocalInvocationID.x == 0)
        rescaled_step = 0;
}

// Keys [first, first + KEYS), of which those below `end` count. In place of others come keys that do.
struct key_range {
    uint first;
    uint end;
    bool masked; // they are under the masks
};

void fetch_keys(work w, key_range range)
{
    uint first = w.b * p.k_batch + w.kv_head * p.k_head;
    if (k_is_aligned(first, p.k_row, HEAD_DIM)) {
        [[unroll]] for (uint step = 0; step < K_STEPS; ++step) {
            uint i = step * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
            uint key = min(range.first + i / K_CHUNKS, range.end - 1);
            keys[step] = k_fetch_aligned(first + key * p.k_row, i % K_CHUNKS * CHUNK, HEAD_DIM);
        }
    } else {
        [[unroll]] for (uint step = 0; step < K_STEPS; ++step) {
            uint i = step * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
            keys[step] = k_fetch(first, p.k_row, range.first + i / K_CHUNKS, i % K_CHUNKS * CHUNK, range.end, HEAD_DIM);
        }
    }
}

void keep_keys()
{
    [[unroll]] for (uint step = 0; step < K_STEPS; ++step) {
        uint i = step * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        if (KEYS * K_CHUNKS % gl_WorkGroupSize.x == 0 || i < KEYS * K_CHUNKS)
            pool[i / K_CHUNKS * K_STRIDE + i % K_CHUNKS] = keys[step];
    }
}

// Of pair i: which keys of the step, in pairs, and which chunk of them. Lanes that follow each other read along rows,
// four of which they write into one line.
uvec2 keys_and_chunk(uint i)
{
    return uvec2(i / (4 * V_CHUNKS) * 4 + i % 4, i / 4 % V_CHUNKS);
}

void fetch_values(work w, key_range range)
{
    uint first = w.b * p.v_batch + w.kv_head * p.v_head;
    if (v_is_aligned(first, p.v_row, V_HEAD_DIM)) {
        [[unroll]] for (uint i = 0; i < 2 * V_STEPS; ++i) {
            uvec2 place = keys_and_chunk(i / 2 * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
            uint key = min(range.first + 2 * place.x + i % 2, range.end - 1);
            values[i] = v_fetch_aligned(first + key * p.v_row, place.y * CHUNK, V_HEAD_DIM);
        }
    } else {
        [[unroll]] for (uint i = 0; i < 2 * V_STEPS; ++i) {
            uvec2 place = keys_and_chunk(i / 2 * gl_WorkGroupSize.x + gl_LocalInvocationID.x);
            values[i] = v_fetch(first, p.v_row, range.first + 2 * place.x + i % 2, place.y * CHUNK, range.end,
                                V_HEAD_DIM);
        }
    }
}

void keep_values()
{
    [[unroll]] for (uint step = 0; step < V_STEPS; ++step) {
        uint i = step * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        uvec2 place = keys_and_chunk(i);
        uint col = place.y * CHUNK;
        uint at = V_FIRST + col / FRAGMENT_N * V_FRAGMENT + col % FRAGMENT_N * V_STRIDE + place.x / 4;
        [[unroll]] for (uint c = 0; c < CHUNK; ++c) {
            float16_t even = unpackFloat2x16(values[2 * step][c / 2])[c % 2];
            float16_t odd = unpackFloat2x16(values[2 * step + 1][c / 2])[c % 2];
            if (V_PAIRS % gl_WorkGroupSize.x == 0 || i < V_PAIRS)
                pool[at + c * V_STRIDE][place.x % 4] = packFloat2x16(f16vec2(even, odd));
        }
    }
}

void score_keys(work w)
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
            coopMatStore(scores[i], pool, w.lines + i * FRAGMENT_M * LINE + n * FRAGMENT_N / 4, LINE,
                         gl_CooperativeMatrixLayoutRowMajor);
    }
}

// The line of a lane's o-th row.
uint lane_line(work w, uint o)
{
    return w.lines + lane_row(o) * LINE;
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
        if (checked) {
            [[unroll]] for (uint c = 0; c < 4; ++c) {
                uint key = range.first + (from + unit) * 4 + c;
                if (range.masked && key < range.end)
                    four[c] = mask_score(views[o], key, four[c]);
                four[c] = key < range.end ? four[c] : LOWEST;
            }
        }
        scores[unit] = four;
        [[unroll]] for (uint c = 0; c < 4; ++c)
            highest = four[c] > highest ? four[c] : highest;
    }
    return highest;
}

// Turns a lane's part of the scores of a row into weights, which overwrite scores that all lanes of the row have read.
void weigh_row(work w, uint o, uint step, key_range range, bool checked)
{
    uint line = lane_line(w, o);
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

void weigh_keys(work w, uint step, key_range range, bool checked)
{
    [[unroll]] for (uint o = 0; o < LANE_ROWS; ++o)
        weigh_row(w, o, step, range, checked);
}

void rescale_sums(work w)
{
    [[unroll]] for (uint o = 0; o < LANE_ROWS; ++o) {
        if (lane_part() == 0) {
            [[unroll]] for (uint unit = 0; unit < FRAGMENT_N / 4; ++unit)
                pool[lane_line(w, o) + WEIGHT_UNITS + unit] = uvec4(floatBitsToUint(rescale[o]));
        }
    }
    subgroupBarrier();
    [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i) {
        SUM_MATRIX factors;
        coopMatLoad(factors, pool, w.lines + i * FRAGMENT_M * LINE + WEIGHT_UNITS, LINE,
                    gl_CooperativeMatrixLayoutRowMajor);
        [[unroll]] for (uint n = 0; n < VALUE_FRAGMENTS; ++n)
            sums[i * VALUE_FRAGMENTS + n] *= factors;
    }
}

void add_values(work w)
{
    [[unroll]] for (uint j = 0; j < KEYS / FRAGMENT_K; ++j) {
        A_MATRIX weights[FRAGMENTS_M];
        [[unroll]] for (uint i = 0; i < FRAGMENTS_M; ++i)
            coopMatLoad(weights[i], pool, w.lines + i * FRAGMENT_M * LINE + j * FRAGMENT_K / CHUNK, LINE,
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

uint split_begin(uint steps, uint split)
{
    return steps / p.splits * split + min(split, steps % p.splits);
}

// Whether some row of the workgroup may not see some key of a step.
bool needs_check(mask_view first_row, mask_view last_row, key_range range)
{
    bool checked = range.first + KEYS > range.end;
    if (!range.masked)
        return checked;
    if (MASK_KIND != VKF_SHADER_MASK_NONE)
        checked = true;
    if (KEY_MASK_KIND != VKF_SHADER_MASK_NONE && KEY_MASK_KIND != VKF_SHADER_MASK_LENGTHS)
        checked = true;
    if (CAUSAL != 0)
        checked = checked || int(range.first + KEYS - 1) > first_row.position;
    if (WINDOW != 0)
        checked = checked || last_row.position - int(range.first) >= int(min(p.window, 0x7fffffffu));
    return checked;
}

// Step `step` over the visible keys of the workgroup: columns under the masks, then those after them.
key_range keys_of_step(uvec2 columns, uint step)
{
    uint masked_steps = (columns.y - columns.x + KEYS - 1) / KEYS;
    if (step < masked_steps)
        return key_range(columns.x + step * KEYS, columns.y, true);
    return key_range(p.mask_cols + (step - masked_steps) * KEYS, p.k_len, false);
}

void attend(work w)
{
    mask_view first_row = view_row(w, w.workgroup_first).mask;
    mask_view last_row = view_row(w, w.workgroup_first + ROWS * SUBGROUPS - 1).mask;
    uvec2 columns = visible_columns(first_row, last_row);
    uint steps = (columns.y - columns.x + KEYS - 1) / KEYS + (p.k_len - p.mask_cols + KEYS - 1) / KEYS;
    uint begin = split_begin(steps, w.split);
    uint end = split_begin(steps, w.split + 1);
    if (begin < end)
        fetch_keys(w, keys_of_step(columns, begin));
    for (uint step = begin; step < end; ++step) {
        key_range range = keys_of_step(columns, step);
        keep_keys();
        barrier();
        fetch_values(w, range);
        score_keys(w);
        keep_values();
        if (step + 1 < end)
            fetch_keys(w, keys_of_step(columns, step + 1));
        subgroupBarrier();
        weigh_keys(w, step, range, needs_check(first_row, last_row, range));
        barrier();
        if (rescaled_step == step + 1)
            rescale_sums(w);
        add_values(w);
    }
}

// A fully masked row takes the sum of all values in the split.
float sum_all_values(work w, uint col)
{
    float sum = 0.0;
    uint end = split_begin(p.k_len, w.split + 1);
    for (uint key = split_begin(p.k_len, w.split); key < end; ++key)
        sum += v_load(w.b * p.v_batch + w.kv_head * p.v_head + key * p.v_row + col);
    return sum;
}

void store_element(work w, uint row, uint col, float sum, float row_total, float row_maximum)
{
    row_view view = view_row(w, w.first_row + row);
    uint first = w.b * p.out_batch + view.l * p.out_row + view.h * p.out_head;
    if (PARTIAL != 0)
        first = (((w.b * p.heads + view.h) * p.q_len + view.l) * p.splits + w.split) * (V_HEAD_DIM + 2);
    float value = sum;
    if (PARTIAL == 0 && row_total != 0.0)
        value /= row_total;
    if (row_total == 0.0) {
        value = PARTIAL == 0 && FULLY_MASKED == VKF_SHADER_FULLY_MASKED_NAN ? nan_value() : 0.0;
        if (FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM)
            value = sum_all_values(w, col) / (PARTIAL == 0 ? float(p.k_len) : 1.0);
    }
    out_store(first + col, is_nan(row_total) ? nan_value() : value);
    if (PARTIAL != 0 && col == 0) {
        out_store(first + V_HEAD_DIM, row_maximum);
        out_store(first + V_HEAD_DIM + 1, row_total);
    }
}

// Stores the sums through the lines, FRAGMENT_N columns at a time. The compiler must know which of the sums each step
// stores, or all of them end in memory; and only loops without a loop inside are sure to be unrolled.
void store_rows(work w)
{
    uint row_count = p.q_len * (p.heads / p.kv_heads);
    [[unroll]] for (uint o = 0; o < LANE_ROWS; ++o) {
        vec4 parts = tell(lane_line(w, o), total[o]);
        float row_total = parts[0];
        [[unroll]] for (uint i = 1; i < PARTS; ++i)
            row_total += parts[i];
        subgroupBarrier();
        if (lane_part() == 0)
            pool[lane_line(w, o) + LINE - 1] = floatBitsToUint(vec4(row_total, maximum[o], 0.0, 0.0));
    }
    [[dont_unroll]] for (uint n = 0; n < VALUE_FRAGMENTS; ++n) {
        [[unroll]] for (uint f = 0; f < FRAGMENTS_M * VALUE_FRAGMENTS; ++f) {
            if (f % VALUE_FRAGMENTS == n)
                coopMatStore(sums[f], pool, w.lines + f / VALUE_FRAGMENTS * FRAGMENT_M * LINE, LINE,
                             gl_CooperativeMatrixLayoutRowMajor);
        }
        subgroupBarrier();
        for (uint e = LANE; e < ROWS * FRAGMENT_N; e += LANES) {
            uint row = e / FRAGMENT_N;
            uint at = e % FRAGMENT_N;
            uint line = w.lines + row * LINE;
            float sum = uintBitsToFloat(pool[line + at / 4][at % 4]);
            vec2 state = uintBitsToFloat(pool[line + LINE - 1].xy);
            if (w.first_row + row < row_count && n * FRAGMENT_N + at < V_HEAD_DIM)
                store_element(w, row, n * FRAGMENT_N + at, sum, state.x, state.y);
        }
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

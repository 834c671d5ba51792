// What the kernels of attention on cooperative matrices share: bindings, keys and values on their way to shared memory,
// the walk over the keys, and what becomes of the sums. The including kernel has declared the specialisation constants
// of shared/attention_coopmat.h, included storage.glsl and matrix.glsl, and defined
//   VALUE_SIDE   columns of values of a fragment
//   LINE         length of a row's line in shared memory, in units of 16 bytes: FRAGMENT_K elements of queries, or
//                VALUE_SIDE sums, and one unit more, which holds the row's total and maximum while sums are stored
//   LINES_FIRST  where the lines of the workgroup's rows begin in the pool; may use STEP_UNITS
//   POOL_UNITS   length of the pool; the same
#ifndef VKF_ATTENTION_MATRIX_GLSL
#define VKF_ATTENTION_MATRIX_GLSL

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_params p; };
layout(push_constant) uniform offsets_block {
    uint q_offset, k_offset, v_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset;
};

READ_WIDE(VKF_ATTENTION_BINDING_Q, q)
READ_CHUNKS(VKF_ATTENTION_BINDING_K, k)
READ_CHUNKS(VKF_ATTENTION_BINDING_V, v)
WRITE(TYPE_OUT, VKF_ATTENTION_BINDING_OUT, out)
READ(bytes, VKF_ATTENTION_BINDING_MASK, mask)
READ(bytes, VKF_ATTENTION_BINDING_KEY_MASK, key_mask)

#define SLOPES_BINDING VKF_ATTENTION_BINDING_SLOPES
#define SINKS_BINDING VKF_ATTENTION_BINDING_SINKS
#include "mask.glsl"
#define BLOCK_ROWS (ROWS * SUBGROUPS)
#include "attention_work.glsl"

const uint LANES = gl_WorkGroupSize.x / SUBGROUPS;

// Head dims are padded with zeros to whole fragments; one chunk more per line against bank conflicts.
const uint DEPTH_FRAGMENTS = (HEAD_DIM + FRAGMENT_K - 1) / FRAGMENT_K;
const uint VALUE_FRAGMENTS = (V_HEAD_DIM + VALUE_SIDE - 1) / VALUE_SIDE;
const uint K_CHUNKS = DEPTH_FRAGMENTS * FRAGMENT_K / CHUNK;
const uint K_STRIDE = K_CHUNKS + 1;
const uint V_CHUNKS = VALUE_FRAGMENTS * VALUE_SIDE / CHUNK;

// Values are transposed on their way: a line holds a column of a step, so that what a lane multiplies at once lies side
// by side. Where lines are columns of memory, RADV loads each of a fragment's elements by itself. A fragment has one
// chunk more, because lanes write to lines that are eight apart.
const uint V_STRIDE = KEYS / CHUNK + 1;
const uint V_FRAGMENT = VALUE_SIDE * V_STRIDE + 1;
const uint V_FIRST = KEYS * K_STRIDE;
const uint STEP_UNITS = V_FIRST + VALUE_FRAGMENTS * V_FRAGMENT; // keys and values of a step

shared uvec4 pool[POOL_UNITS];

const uint K_STEPS = (KEYS * K_CHUNKS + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const uint V_PAIRS = KEYS / 2 * V_CHUNKS; // of chunks, of two keys that follow each other
const uint V_STEPS = (V_PAIRS + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;

uvec4 keys[K_STEPS]; // on their way to shared memory
uvec4 values[2 * V_STEPS];

// The subgroup's first row.
uint subgroup_row(work w)
{
    return w.first_row + gl_SubgroupID * ROWS;
}

// The line of a row of the subgroup's.
uint row_line(uint row)
{
    return LINES_FIRST + (gl_SubgroupID * ROWS + row) * LINE;
}

// Puts FRAGMENT_K elements of each query, from `first_at` on, into the subgroup's lines.
void stage_queries(work w, uint first_at)
{
    const uint CHUNKS = FRAGMENT_K / CHUNK;
    [[unroll]] for (uint step = 0; step < (ROWS * CHUNKS + LANES - 1) / LANES; ++step) {
        uint i = step * LANES + LANE;
        row_view view = view_row(w, subgroup_row(w) + i / CHUNKS);
        uint first = w.b * p.q_batch + view.l * p.q_row + view.h * p.q_head;
        uint at = first_at + i % CHUNKS * CHUNK;
        if (i < ROWS * CHUNKS)
            pool[row_line(i / CHUNKS) + i % CHUNKS] = NARROW(q_fetch(first, 0, 0, at, 1, HEAD_DIM));
    }
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

// Which keys of the step pair i has, in pairs, and which chunk of them. Lanes that follow each other read along rows,
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
        uint at = V_FIRST + col / VALUE_SIDE * V_FRAGMENT + col % VALUE_SIDE * V_STRIDE + place.x / 4;
        [[unroll]] for (uint c = 0; c < CHUNK; ++c) {
            float16_t even = unpackFloat2x16(values[2 * step][c / 2])[c % 2];
            float16_t odd = unpackFloat2x16(values[2 * step + 1][c / 2])[c % 2];
            if (V_PAIRS % gl_WorkGroupSize.x == 0 || i < V_PAIRS)
                pool[at + c * V_STRIDE][place.x % 4] = packFloat2x16(f16vec2(even, odd));
        }
    }
}

// Whether masks may change the score of some key of a step for some row of the workgroup.
bool needs_check(mask_view first_row, mask_view last_row, key_range range)
{
    bool checked = range.first + KEYS > range.end;
    if (!range.masked)
        return checked;
    if (MASK_KIND != VKF_SHADER_MASK_NONE)
        checked = true;
    if (KEY_MASK_KIND != VKF_SHADER_MASK_NONE && KEY_MASK_KIND != VKF_SHADER_MASK_LENGTHS)
        checked = true;
    if (SLOPED)
        checked = true;
    if (CAUSAL != 0)
        checked = checked || int(range.first + KEYS - 1) > first_row.position;
    if (WINDOW != 0)
        checked = checked || last_row.position - int(range.first) >= int(min(p.window, 0x7fffffffu));
    return checked;
}

// Over the visible keys of the workgroup: columns under the masks, then those after them.
uint count_steps(uvec2 columns)
{
    return (columns.y - columns.x + KEYS - 1) / KEYS + (p.k_len - p.mask_cols + KEYS - 1) / KEYS;
}

// The keys of one of these steps.
key_range keys_of_step(uvec2 columns, uint step)
{
    uint masked_steps = (columns.y - columns.x + KEYS - 1) / KEYS;
    if (step < masked_steps)
        return key_range(columns.x + step * KEYS, columns.y, true);
    return key_range(p.mask_cols + (step - masked_steps) * KEYS, p.k_len, false);
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
    row_view view = view_row(w, subgroup_row(w) + row);
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

// Stores the columns of fragment n, which lie in the subgroup's lines; the last unit of a line has the row's total and
// maximum.
void store_columns(work w, uint n)
{
    for (uint e = LANE; e < ROWS * VALUE_SIDE; e += LANES) {
        uint row = e / VALUE_SIDE;
        uint at = e % VALUE_SIDE;
        float sum = uintBitsToFloat(pool[row_line(row) + at / 4][at % 4]);
        vec2 state = uintBitsToFloat(pool[row_line(row) + LINE - 1].xy);
        if (subgroup_row(w) + row < row_count() && n * VALUE_SIDE + at < V_HEAD_DIM)
            store_element(w, row, n * VALUE_SIDE + at, sum, state.x, state.y);
    }
}

#endif

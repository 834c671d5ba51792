// Attention with a running softmax, without shared memory or barriers; semantics in shared/attention.h.
//
// An invocation holds QUERIES rows: query, sums and the KEYS scores of a step stay in its registers. All invocations of
// a workgroup walk the same keys, so key and value are read uniformly. With SPLIT_LANES the invocations that share a
// row take different keys instead, for decode with few rows. A workgroup has ROWS = QUERIES * local size / SPLIT_LANES
// rows.
//
// Invariants (the registry checks them): SPLIT_LANES divides the local size; with splits > 1, PARTIAL is set and out is
// f32. All loops over QUERIES, KEYS and dims are unrolled, so the time to compile a pipeline grows with
// QUERIES * KEYS * (HEAD_DIM + V_HEAD_DIM): it takes seconds from 2048 on.
//
// Grid, in any fold of two dimensions: ceil(q_len * heads / kv_heads / ROWS) * (splits / SPLIT_LANES) * kv_heads *
// batch workgroups.
//
// key and value come from (-D)
//   SOURCE_TEXEL    query, key, value: texel buffers of TEXEL_WIDTH elements per texel, of any float format. Strides,
//                   first elements and head dims are multiples of TEXEL_WIDTH. The push constants count texels.
//   SOURCE_ADDRESS  key, value: buffer device addresses. With halves (TYPE_KV f16) strides and first elements are even.
//   neither         storage buffers.
//
// FENCE puts a memory barrier behind every FENCE dims of the scores. The barrier orders no memory accesses that matter.
// Without it, compilers that schedule depth-first (LLVM's for x86, so lavapipe) compute the keys' sums one after
// another, which spills the query and waits for every addition. It helps where key is read by device address.
//
// Keys that no row of the workgroup sees are not visited, and whatever lies beyond the visible keys is never read: a
// step that reaches beyond them repeats the last key and gives it no weight. Loops count steps of KEYS, as Mesa 22.3's
// lavapipe ends an invocation's loops after 65,535 iterations in all. They are do-while: a top-tested loop may execute
// a body with no invocation active, whose uniform loads still happen.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef SOURCE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

#include "include/storage.glsl"
#include "shared/attention.h"
#include "include/grid.glsl"

layout(constant_id = VKF_ATTENTION_SPEC_QUERIES) const uint QUERIES = 1;
layout(constant_id = VKF_ATTENTION_SPEC_KEYS) const uint KEYS = 8;
layout(constant_id = VKF_ATTENTION_SPEC_SPLIT_LANES) const uint SPLIT_LANES = 1;
layout(constant_id = VKF_ATTENTION_SPEC_FENCE) const uint FENCE = 0;
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

// Each source gives, for name = q, k, v,
//   name_row(element)   where a row of a head begins: a ROW for k and v
//   name_load4(row, i)  elements i to i + 3 of the row, i a multiple of 4; those beyond the row are not to be used
#ifdef SOURCE_TEXEL
layout(constant_id = VKF_ATTENTION_SPEC_TEXEL_WIDTH) const uint TEXEL_WIDTH = 4;
layout(push_constant) uniform offsets_block {
    uint q_offset, k_offset, v_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset;
};

#define TEXEL_SOURCE(slot, name, count)                                                   \
    layout(set = 0, binding = slot) uniform textureBuffer name##_texels;                  \
    uint name##_row(uint element) { return name##_offset + element / TEXEL_WIDTH; }       \
    float name##_load(uint i) { return texelFetch(name##_texels, int(i)).x; }             \
    vec4 name##_load4(uint row, uint i)                                                   \
    {                                                                                     \
        if (TEXEL_WIDTH == 4)                                                             \
            return texelFetch(name##_texels, int(row + i / 4));                           \
        return vec4(name##_load(row + i), i + 1 < count ? name##_load(row + i + 1) : 0.0, \
                    i + 2 < count ? name##_load(row + i + 2) : 0.0,                       \
                    i + 3 < count ? name##_load(row + i + 3) : 0.0);                      \
    }
#define ROW uint
TEXEL_SOURCE(VKF_ATTENTION_BINDING_Q, q, HEAD_DIM)
TEXEL_SOURCE(VKF_ATTENTION_BINDING_K, k, HEAD_DIM)
TEXEL_SOURCE(VKF_ATTENTION_BINDING_V, v, V_HEAD_DIM)
#else
#define STORAGE_SOURCE(type, slot, name, count)                                           \
    READ(type, slot, name)                                                                \
    uint name##_row(uint element) { return element; }                                     \
    vec4 name##_load4(uint row, uint i)                                                   \
    {                                                                                     \
        return vec4(name##_load(row + i), i + 1 < count ? name##_load(row + i + 1) : 0.0, \
                    i + 2 < count ? name##_load(row + i + 2) : 0.0,                       \
                    i + 3 < count ? name##_load(row + i + 3) : 0.0);                      \
    }
#ifdef SOURCE_ADDRESS
layout(push_constant) uniform offsets_block {
    uint q_offset, k_offset, v_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset;
    uvec2 k_address, v_address;
};
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer words_f32 { float data[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer words_f16 { uint data[]; };

// 64-bit sums by hand: shaderInt64 is optional.
uvec2 advance(uvec2 address, uint low, uint high)
{
    uint carry;
    low = uaddCarry(address.x, low, carry);
    return uvec2(low, address.y + high + carry);
}

#define ADDRESS_SOURCE(type, name, count) ADDRESS_SOURCE_EXPAND(type, name, count)
#define ADDRESS_SOURCE_EXPAND(type, name, count) ADDRESS_SOURCE_##type(name, count)
#define ADDRESS_SOURCE_f32(name, count)                                                                   \
    uvec2 name##_row(uint element) { return advance(name##_address, element << 2, element >> 30); }       \
    vec4 name##_load4(uvec2 row, uint i)                                                                  \
    {                                                                                                     \
        words_f32 words = words_f32(row);                                                                 \
        return vec4(words.data[i], i + 1 < count ? words.data[i + 1] : 0.0,                               \
                    i + 2 < count ? words.data[i + 2] : 0.0, i + 3 < count ? words.data[i + 3] : 0.0);    \
    }
#define ADDRESS_SOURCE_f16(name, count)                                                                   \
    uvec2 name##_row(uint element) { return advance(name##_address, element << 1, element >> 31); }       \
    vec4 name##_load4(uvec2 row, uint i)                                                                  \
    {                                                                                                     \
        words_f16 words = words_f16(row);                                                                 \
        return vec4(unpackHalf2x16(words.data[i / 2]),                                                    \
                    i + 2 < count ? unpackHalf2x16(words.data[i / 2 + 1]) : vec2(0.0));                   \
    }
#define ROW uvec2
STORAGE_SOURCE(TYPE_Q, VKF_ATTENTION_BINDING_Q, q, HEAD_DIM)
ADDRESS_SOURCE(TYPE_KV, k, HEAD_DIM)
ADDRESS_SOURCE(TYPE_KV, v, V_HEAD_DIM)
#else
layout(push_constant) uniform offsets_block {
    uint q_offset, k_offset, v_offset, out_offset, mask_offset, key_mask_offset, slopes_offset, sinks_offset;
};
#define ROW uint
STORAGE_SOURCE(TYPE_Q, VKF_ATTENTION_BINDING_Q, q, HEAD_DIM)
STORAGE_SOURCE(TYPE_KV, VKF_ATTENTION_BINDING_K, k, HEAD_DIM)
STORAGE_SOURCE(TYPE_KV, VKF_ATTENTION_BINDING_V, v, V_HEAD_DIM)
#endif
#endif

WRITE(TYPE_OUT, VKF_ATTENTION_BINDING_OUT, out)
READ(bytes, VKF_ATTENTION_BINDING_MASK, mask)
READ(bytes, VKF_ATTENTION_BINDING_KEY_MASK, key_mask)

#define SLOPES_BINDING VKF_ATTENTION_BINDING_SLOPES
#define SINKS_BINDING VKF_ATTENTION_BINDING_SINKS
#include "include/mask.glsl"

// What the workgroup works on. All its invocations have the same, except the split under SPLIT_LANES.
struct work {
    uint b;
    uint kv_head;
    uint split;
    uint first_row;
};

struct row_view {
    uint h;
    uint l;
    mask_view mask;
};

const uint VALUE_BLOCK = 8; // elements of a value that are summed side by side
const uint ROW_LANES = gl_WorkGroupSize.x / SPLIT_LANES;

float query[QUERIES * HEAD_DIM];  // scaled
float sums[QUERIES * V_HEAD_DIM]; // of weighted values, relative to maximum
float maximum[QUERIES];
float total[QUERIES]; // of weights
float scores[QUERIES * KEYS];
row_view rows[QUERIES];

// Blocks of rows run backwards: under the causal mask the longest come first.
work view_work(uint index)
{
    uint group = p.heads / p.kv_heads;
    uint blocks = (p.q_len * group + QUERIES * ROW_LANES - 1) / (QUERIES * ROW_LANES);
    uint split_blocks = p.splits / SPLIT_LANES;
    work w;
    w.first_row = (blocks - 1 - index % blocks) * QUERIES * ROW_LANES;
    index /= blocks;
    w.split = index % split_blocks * SPLIT_LANES;
    if (SPLIT_LANES > 1) // else it stays uniform to the compiler
        w.split += gl_LocalInvocationID.x / ROW_LANES;
    index /= split_blocks;
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

void load_queries(work w)
{
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        rows[r] = view_row(w, w.first_row + r * ROW_LANES + gl_LocalInvocationID.x % ROW_LANES);
        uint row = q_row(w.b * p.q_batch + rows[r].l * p.q_row + rows[r].h * p.q_head);
        [[unroll]] for (uint i = 0; i < HEAD_DIM; i += 4) {
            vec4 four = q_load4(row, i) * p.scale;
            [[unroll]] for (uint c = 0; c < 4; ++c) {
                if (i + c < HEAD_DIM)
                    query[r * HEAD_DIM + i + c] = four[c];
            }
        }
        [[unroll]] for (uint i = 0; i < V_HEAD_DIM; ++i)
            sums[r * V_HEAD_DIM + i] = 0.0;
        vec2 begun = start_softmax(rows[r].h, w.split == 0);
        maximum[r] = begun.x;
        total[r] = begun.y;
    }
}

uint clamp_key(uint key, uint end)
{
    return min(min(key, end - 1), p.k_len - 1);
}

void score_keys(work w, uint first, uint end)
{
    ROW keys[KEYS];
    [[unroll]] for (uint j = 0; j < KEYS; ++j)
        keys[j] = k_row(w.b * p.k_batch + w.kv_head * p.k_head + clamp_key(first + j, end) * p.k_row);
    [[unroll]] for (uint j = 0; j < QUERIES * KEYS; ++j)
        scores[j] = 0.0;
    [[unroll]] for (uint i = 0; i < HEAD_DIM; i += 4) {
        [[unroll]] for (uint j = 0; j < KEYS; ++j) {
            vec4 key = k_load4(keys[j], i);
            [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
                [[unroll]] for (uint c = 0; c < 4; ++c) {
                    if (i + c < HEAD_DIM)
                        scores[r * KEYS + j] = fma(query[r * HEAD_DIM + i + c], key[c], scores[r * KEYS + j]);
                }
            }
        }
        if (FENCE != 0 && (i + 4) % FENCE == 0)
            memoryBarrierBuffer();
    }
    [[unroll]] for (uint j = 0; j < QUERIES * KEYS; ++j)
        scores[j] = cap_score(scores[j]);
}

void mask_scores(uint first, uint end, bool masked)
{
    if (masked) {
        [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
            [[unroll]] for (uint j = 0; j < KEYS; ++j)
                scores[r * KEYS + j] = mask_score(rows[r].mask, clamp_key(first + j, end), scores[r * KEYS + j]);
        }
    }
    if (first + KEYS <= end)
        return;
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        [[unroll]] for (uint j = 0; j < KEYS; ++j)
            scores[r * KEYS + j] = first + j < end ? scores[r * KEYS + j] : MASKED;
    }
}

// Turns scores into weights. With a NaN among the scores the maximum does not matter, because the total is NaN.
void weigh_keys(out float rescale[QUERIES])
{
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        float previous = maximum[r];
        [[unroll]] for (uint j = 0; j < KEYS; ++j)
            maximum[r] = max(maximum[r], scores[r * KEYS + j]);
        rescale[r] = exp(previous - maximum[r]);
        total[r] *= rescale[r];
        [[unroll]] for (uint j = 0; j < KEYS; ++j) {
            scores[r * KEYS + j] = weight(scores[r * KEYS + j], maximum[r]);
            total[r] += scores[r * KEYS + j];
        }
    }
}

void add_values(work w, uint first, uint end, float rescale[QUERIES])
{
    ROW values[KEYS];
    [[unroll]] for (uint j = 0; j < KEYS; ++j)
        values[j] = v_row(w.b * p.v_batch + w.kv_head * p.v_head + clamp_key(first + j, end) * p.v_row);
    [[unroll]] for (uint i = 0; i < V_HEAD_DIM; i += VALUE_BLOCK) {
        float part[QUERIES * VALUE_BLOCK];
        [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
            [[unroll]] for (uint c = 0; c < VALUE_BLOCK; ++c) {
                if (i + c < V_HEAD_DIM)
                    part[r * VALUE_BLOCK + c] = sums[r * V_HEAD_DIM + i + c] * rescale[r];
            }
        }
        [[unroll]] for (uint j = 0; j < KEYS; ++j) {
            [[unroll]] for (uint n = 0; n < VALUE_BLOCK; n += 4) {
                vec4 value = i + n < V_HEAD_DIM ? v_load4(values[j], i + n) : vec4(0.0);
                [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
                    [[unroll]] for (uint c = 0; c < 4; ++c) {
                        uint at = r * VALUE_BLOCK + n + c;
                        if (i + n + c < V_HEAD_DIM)
                            part[at] = fma(scores[r * KEYS + j], value[c], part[at]);
                    }
                }
            }
        }
        [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
            [[unroll]] for (uint c = 0; c < VALUE_BLOCK; ++c) {
                if (i + c < V_HEAD_DIM)
                    sums[r * V_HEAD_DIM + i + c] = part[r * VALUE_BLOCK + c];
            }
        }
    }
}

uint split_begin(uint steps, uint split)
{
    return steps / p.splits * split + min(split, steps % p.splits);
}

// Attends to the visible keys of the workgroup: columns under the masks, then those after them. Every other block of
// rows takes them backwards, and so begins with what is still in the caches: if few heads lie side by side and keys are
// a power of two of bytes apart, they share few cache sets.
void attend(work w)
{
    row_view last = view_row(w, w.first_row + QUERIES * ROW_LANES - 1);
    uvec2 range = visible_columns(view_row(w, w.first_row).mask, last.mask);
    uint masked_steps = (range.y - range.x + KEYS - 1) / KEYS;
    uint steps = masked_steps + (p.k_len - p.mask_cols + KEYS - 1) / KEYS;
    uint begin_step = split_begin(steps, w.split);
    uint end_step = split_begin(steps, w.split + 1);
    if (begin_step >= end_step)
        return;
    bool backwards = (w.first_row / (QUERIES * ROW_LANES) & 1u) != 0;
    uint step = 0;
    do {
        uint at = backwards ? end_step - 1 - step : begin_step + step;
        bool masked = at < masked_steps;
        uint first = masked ? range.x + at * KEYS : p.mask_cols + (at - masked_steps) * KEYS;
        uint end = masked ? range.y : p.k_len;
        float rescale[QUERIES];
        score_keys(w, first, end);
        mask_scores(first, end, masked);
        weigh_keys(rescale);
        add_values(w, first, end, rescale);
    } while (++step < end_step - begin_step);
}

// Sets the sums of a fully masked row to the sums of all values in the split.
void add_all_values(work w)
{
    bool needed = false;
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        needed = needed || total[r] == 0.0;
        [[unroll]] for (uint i = 0; i < V_HEAD_DIM; ++i)
            sums[r * V_HEAD_DIM + i] = total[r] == 0.0 ? 0.0 : sums[r * V_HEAD_DIM + i];
    }
    uint key = split_begin(p.k_len, w.split);
    uint end = split_begin(p.k_len, w.split + 1);
    if (!needed || key >= end)
        return;
    do {
        [[unroll]] for (uint j = 0; j < 4; ++j) {
            ROW row = v_row(w.b * p.v_batch + w.kv_head * p.v_head + clamp_key(key + j, end) * p.v_row);
            [[unroll]] for (uint i = 0; i < V_HEAD_DIM; i += 4) {
                vec4 value = v_load4(row, i);
                [[unroll]] for (uint c = 0; c < 4; ++c) {
                    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
                        if (i + c < V_HEAD_DIM && total[r] == 0.0 && key + j < end)
                            sums[r * V_HEAD_DIM + i + c] += value[c];
                    }
                }
            }
        }
        key += 4;
    } while (key < end);
}

void store_row(work w, uint r)
{
    uint first = w.b * p.out_batch + rows[r].l * p.out_row + rows[r].h * p.out_head;
    if (PARTIAL != 0)
        first = (((w.b * p.heads + rows[r].h) * p.q_len + rows[r].l) * p.splits + w.split) * (V_HEAD_DIM + 2);
    float factor = 1.0;
    if (PARTIAL == 0 && total[r] != 0.0)
        factor = 1.0 / total[r];
    if (PARTIAL == 0 && total[r] == 0.0 && FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM)
        factor = 1.0 / float(p.k_len);
    [[unroll]] for (uint i = 0; i < V_HEAD_DIM; ++i) {
        float value = sums[r * V_HEAD_DIM + i] * factor;
        if (PARTIAL == 0 && total[r] == 0.0 && FULLY_MASKED != VKF_SHADER_FULLY_MASKED_UNIFORM)
            value = FULLY_MASKED == VKF_SHADER_FULLY_MASKED_NAN ? nan_value() : 0.0;
        out_store(first + i, is_nan(total[r]) ? nan_value() : value);
    }
    if (PARTIAL != 0) {
        out_store(first + V_HEAD_DIM, maximum[r]);
        out_store(first + V_HEAD_DIM + 1, total[r]);
    }
}

void main()
{
    work w = view_work(group_index());
    if (w.b >= p.batch)
        return;
    load_queries(w);
    attend(w);
    if (FULLY_MASKED == VKF_SHADER_FULLY_MASKED_UNIFORM)
        add_all_values(w);
    uint row_count = p.q_len * (p.heads / p.kv_heads);
    [[unroll]] for (uint r = 0; r < QUERIES; ++r) {
        if (w.first_row + r * ROW_LANES + gl_LocalInvocationID.x % ROW_LANES < row_count)
            store_row(w, r);
    }
}

// Combines the partial results of attention over split keys, see shared/attention.h. One workgroup per row (query of a
// head), rows ordered (batch, heads, q_len).
//
// With ATTENTION_REDUCE_WIDE the invocations of a workgroup divide the parts of their row, too, so that all of them are
// on their way from memory at once: for rows of many parts. The local size is a power of two.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/attention.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_ATTENTION_REDUCE_SPEC_FULLY_MASKED) const uint FULLY_MASKED = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_reduce_params p; };
layout(push_constant) uniform offsets_block { uint part_offset, out_offset; };

READ(f32, VKF_ATTENTION_REDUCE_BINDING_PARTIAL, part)
WRITE(TYPE_OUT, VKF_ATTENTION_REDUCE_BINDING_OUT, out)

#define PART_WIDTH p.v_head_dim
#include "include/attention_parts.glsl"

#ifdef ATTENTION_REDUCE_WIDE
#include "include/local_size.glsl"

const uint UNROLL = 4; // parts that an invocation has on their way

shared float maxima[LOCAL_SIZE];
shared uint seen[LOCAL_SIZE]; // whether there was a key in some part
shared float sums[LOCAL_SIZE];
shared float totals[LOCAL_SIZE];

// By all invocations of the workgroup together.
parts_view view_parts_together(parts row)
{
    uint lane = gl_LocalInvocationID.x;
    parts_view view = parts_view(part_maximum(row, 0), true);
    for (uint split = lane; split < p.splits; split += LOCAL_SIZE) {
        view.maximum = max(view.maximum, part_maximum(row, split));
        view.masked = view.masked && part_total(row, split) == 0.0;
    }
    maxima[lane] = view.maximum;
    seen[lane] = view.masked ? 0 : 1;
    barrier();
    for (uint i = 0; i < min(p.splits, LOCAL_SIZE); ++i) {
        view.maximum = max(view.maximum, maxima[i]);
        view.masked = view.masked && seen[i] == 0;
    }
    return view;
}

// Neighbours take neighbouring columns, and those that are a slice apart other parts of the same ones.
void reduce_row(parts row, uint out_first)
{
    uint lane = gl_LocalInvocationID.x;
    uint width = 1; // a power of two
    while (width < min(p.v_head_dim, LOCAL_SIZE))
        width *= 2;
    uint slice = lane / width, slices = LOCAL_SIZE / width;
    parts_view view = view_parts_together(row);
    for (uint first = 0; first < p.v_head_dim; first += width) {
        uint col = first + lane % width;
        share s = share(0.0, 0.0);
        for (uint split = slice; split < p.splits; split += UNROLL * slices) {
            column_part loaded[UNROLL];
            [[unroll]] for (uint i = 0; i < UNROLL; ++i)
                loaded[i] = load_part(row, min(split + i * slices, p.splits - 1), min(col, p.v_head_dim - 1));
            [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
                if (split + i * slices < p.splits)
                    add_part(s, loaded[i], view);
            }
        }
        sums[lane] = s.sum;
        totals[lane] = s.total;
        barrier();
        for (uint other = lane + width; slice == 0 && other < LOCAL_SIZE; other += width) {
            s.sum += sums[other];
            s.total += totals[other];
        }
        if (slice == 0 && col < p.v_head_dim)
            out_store(out_first + col, joined(s, view));
        barrier();
    }
}
#else
void reduce_row(parts row, uint out_first)
{
    for (uint col = gl_LocalInvocationID.x; col < p.v_head_dim; col += gl_WorkGroupSize.x)
        out_store(out_first + col, join_column(row, col));
}
#endif

void main()
{
    uint row = group_index();
    if (row >= p.rows)
        return;
    uint l = row % p.q_len;
    uint h = row / p.q_len % p.heads;
    parts of_row = parts(row * p.splits * (p.v_head_dim + 2), p.v_head_dim + 2);
    reduce_row(of_row, row / p.q_len / p.heads * p.out_batch + l * p.out_row + h * p.out_head);
}

// The backward pass of token embedding; semantics in shared/embed_grad.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/embed_grad.h"
#include "include/grid.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_embed_grad_params p; };
layout(push_constant) uniform offsets_block { uint dout_offset, lists_offset, dtable_offset; };

READ(TYPE_X, VKF_EMBED_GRAD_BINDING_DOUT, dout)
READ(i32, VKF_EMBED_GRAD_BINDING_LISTS, lists)
READ_WRITE(TYPE_X, VKF_EMBED_GRAD_BINDING_DTABLE, dtable)

const uint UNROLL = VKF_EMBED_GRAD_UNROLL; // an id of many tokens stays below lavapipe's limit of 65,535 iterations

void clear_row(uint row, uint col)
{
    [[unroll]] for (uint c = 0; c < VKF_PART_EACH; ++c, col += gl_WorkGroupSize.x) {
        if (col < p.dim)
            dtable_store(row * p.dim + col, 0.0);
    }
}

// The sum of an iteration's tokens in four columns. Added up apart, it rounds a long sum less often. In arrays instead
// of vectors, it would have SwiftShader compile for minutes.
vec4 sum_of_tokens(uint first, uint end, uvec4 cols)
{
    vec4 sum = vec4(0.0);
    [[unroll]] for (uint i = 0; i < UNROLL; ++i) {
        uvec4 at = uint(lists_load(min(first + i, end - 1))) * p.dim + cols;
        vec4 value = vec4(dout_load(at.x), dout_load(at.y), dout_load(at.z), dout_load(at.w));
        sum += first + i < end ? value : vec4(0.0);
    }
    return sum;
}

void main()
{
    uvec2 at = row_and_column(p.dim);
    uint row = at.x, col = at.y;
    if (row >= p.rows)
        return;
    if (p.clears != 0) {
        clear_row(row, col);
        return;
    }
    uint id = uint(lists_load(p.ids_first + row));
    if (id < p.slice_begin || id >= p.slice_end)
        return;
    uint begin = uint(lists_load(p.starts_first + row)), end = uint(lists_load(p.starts_first + row + 1));
    uvec4 cols = min(col + uvec4(0, 1, 2, 3) * gl_WorkGroupSize.x, uvec4(p.dim - 1));
    vec4 sums = vec4(0.0);
    for (uint first = begin; first < end; first += UNROLL)
        sums += sum_of_tokens(first, end, cols);
    uint entry = (id - p.slice_begin) * p.dim;
    [[unroll]] for (uint c = 0; c < VKF_PART_EACH; ++c) {
        if (col + c * gl_WorkGroupSize.x < p.dim)
            dtable_store(entry + cols[c], dtable_load(entry + cols[c]) + p.scale * sums[c]);
    }
}

// Token embedding with positions; semantics in shared/embed.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/embed.h"
#include "include/grid.glsl"

layout(constant_id = VKF_EMBED_SPEC_HAS_POSITIONS) const uint HAS_POSITIONS = 0;
layout(constant_id = VKF_EMBED_SPEC_PADDING_LEADS) const uint PADDING_LEADS = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_embed_params p; };
layout(push_constant) uniform offsets_block { uint ids_offset, table_offset, positions_offset, out_offset; };

READ(i32, VKF_EMBED_BINDING_IDS, ids)
READ(TYPE_TABLE, VKF_EMBED_BINDING_TABLE, table)
READ(f32, VKF_EMBED_BINDING_POSITIONS, positions)
WRITE(TYPE_OUT, VKF_EMBED_BINDING_OUT, out)

void main()
{
    uvec2 at = row_and_column(p.dim);
    uint row = at.x, col = at.y, b = row / p.len, t = row - b * p.len;
    if (row >= p.batch * p.len)
        return;
    uint id = uint(ids_load(b * p.ids_stride + p.ids_first + t)); // a negative id lands beyond any vocabulary
    bool in_slice = id >= p.slice_begin && id < p.slice_end;
    if (!in_slice && !(id >= p.vocab && p.owns_invalid != 0))
        return;
    uint position = p.first_position + t, entry = in_slice ? (id - p.slice_begin) * p.dim : 0;
    if (HAS_POSITIONS != 0 && PADDING_LEADS != 0)
        position -= min(uint(ids_load(b * p.ids_stride)), position);
    if (HAS_POSITIONS != 0 && p.position_ids != 0)
        position = uint(ids_load(p.position_ids + b * p.ids_stride + p.ids_first + t));
    [[unroll]] for (uint i = 0; i < VKF_PART_EACH; ++i, col += gl_WorkGroupSize.x) {
        if (col >= p.dim)
            return;
        float value = in_slice ? table_load(entry + col) * p.scale : 0.0;
        if (HAS_POSITIONS != 0)
            value += positions_load(position * p.dim + col);
        out_store(row * p.dim + col, value);
    }
}

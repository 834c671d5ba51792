// A matrix put into panels; semantics in shared/pack.h.
//
// An invocation writes a run of neighbours, which shares the divisions and lets half storage be written by whole words.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/pack.h"
#include "include/grid.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_pack_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(TYPE_X, VKF_PACK_BINDING_X, x)
WRITE(TYPE_X, VKF_PACK_BINDING_OUT, out)

#if SAME_TYPE(TYPE_X, f16p)
#define HALF(i) (x_load_bits(i) & 0xffffu)
#endif

void main()
{
    uint first = flat_index() * VKF_PACK_RUN;
    if (first >= p.count)
        return;
    uint row = first / p.panel; // counted through the panels
    uint block = row / p.depth;
    uint x_row = (row - block * p.depth) * p.x_depth;
    uint col_first = block * p.panel + (first - row * p.panel);
    uint cols = p.cols;
    uint stride = p.x_col;
#if SAME_TYPE(TYPE_X, f16p)
    [[unroll]] for (uint i = 0; i < VKF_PACK_RUN; i += 2) {
        uint col = col_first + i;
        uint low = HALF(x_row + min(col, cols - 1) * stride);
        uint high = HALF(x_row + min(col + 1, cols - 1) * stride);
        out_data[(out_offset + first + i) / 2] = (col < cols ? low : 0u) | (col + 1 < cols ? high << 16 : 0u);
    }
#else
    [[unroll]] for (uint i = 0; i < VKF_PACK_RUN; ++i) {
        uint col = col_first + i;
        float value = x_load(x_row + min(col, cols - 1) * stride);
        out_store(first + i, col < cols ? value : 0.0);
    }
#endif
}

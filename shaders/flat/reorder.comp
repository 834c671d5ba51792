// Rows that change places; semantics in shared/reorder.h.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/storage.glsl"
#include "shared/reorder.h"
#include "include/grid.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_reorder_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, moves_offset; };

layout(set = 0, binding = VKF_REORDER_BINDING_X, std430) buffer x_buffer { uint x_data[]; };
READ(TYPE_X, VKF_REORDER_BINDING_MOVES, moves)

void main()
{
    uint i = flat_index();
    if (i >= p.count)
        return;
    uint at = x_offset + p.first + i, row_words = p.row_words, aside = 0u;
    for (uint move = 0; move < p.moves; ++move) {
        int to = moves_load(2 * move), from = moves_load(2 * move + 1);
        uint word = aside;
        if (from >= 0)
            word = x_data[at + uint(from) * row_words];
        if (to >= 0)
            x_data[at + uint(to) * row_words] = word;
        else
            aside = word;
    }
}

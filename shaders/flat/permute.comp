// Exchange of the two middle dimensions; semantics in shared/permute.h.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/storage.glsl"
#include "shared/permute.h"
#include "include/grid.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_permute_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(TYPE_X, VKF_PERMUTE_BINDING_X, x)
WRITE(TYPE_X, VKF_PERMUTE_BINDING_OUT, out)

void main()
{
    uint i = flat_index();
    if (i >= p.count)
        return;
    uint d = i % p.depth;
    uint r = i / p.depth % p.rows;
    uint c = i / p.depth / p.rows % p.cols;
    uint b = i / p.depth / p.rows / p.cols;
    MOVE(TYPE_X, out, i, x, ((b * p.rows + r) * p.cols + c) * p.depth + d);
}

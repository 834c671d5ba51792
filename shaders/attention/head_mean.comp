// Mean over heads; semantics in shared/head_mean.h.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/storage.glsl"
#include "shared/head_mean.h"
#include "include/grid.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_head_mean_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(TYPE_X, VKF_HEAD_MEAN_BINDING_X, x)
WRITE(TYPE_X, VKF_HEAD_MEAN_BINDING_OUT, out)

void main()
{
    uint i = flat_index();
    if (i >= p.count)
        return;
    uint first = i / p.plane * p.heads * p.plane + i % p.plane;
    float sum = 0.0;
    for (uint h = 0; h < p.heads; ++h)
        sum += x_load(first + h * p.plane);
    out_store(i, sum / float(p.heads));
}

// Strided copy, conversion, scaling and accumulation; semantics in shared/copy.h.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/storage.glsl"
#include "include/q8_rows.glsl"
#include "shared/copy.h"
#include "include/grid.glsl"

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_copy_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset; };

READ(TYPE_X, VKF_COPY_BINDING_X, x)
READ_WRITE(TYPE_OUT, VKF_COPY_BINDING_OUT, out)

void main()
{
    uint i = flat_index();
    if (i >= p.count)
        return;
    uint c = i % p.cols;
    uint r = i / p.cols % p.rows;
    uint o = i / p.cols / p.rows;
    uint from = p.x_first + o * p.x_outer + r * p.x_row + c;
    uint to = p.out_first + o * p.out_outer + r * p.out_row + c;
    if (p.alpha == 1.0 && p.beta == 0.0) {
#if SAME_TYPE(TYPE_X, TYPE_OUT)
        MOVE(TYPE_X, out, to, x, from);
#else
        out_store(to, x_load(from));
#endif
        return;
    }
    float value = 0.0;
    if (p.alpha != 0.0)
        value = p.alpha * x_load(from);
    if (p.beta != 0.0)
        value += p.beta * out_load(to);
    out_store(to, value);
}

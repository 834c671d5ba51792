// Elements from and to where an index tells; semantics in shared/index.h.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "include/storage.glsl"
#include "shared/index.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_INDEX_SPEC_MODE) const uint MODE = VKF_INDEX_SCATTER;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_index_params p; };
layout(push_constant) uniform offsets_block { uint index_offset, x_offset, out_offset; };

READ(i32, VKF_INDEX_BINDING_INDEX, index)
READ(TYPE_X, VKF_INDEX_BINDING_X, x)
READ_WRITE(TYPE_X, VKF_INDEX_BINDING_OUT, out)

float reduced(float old, float new)
{
    if (MODE == VKF_INDEX_SCATTER_ADD)
        return old + new;
    if (MODE == VKF_INDEX_SCATTER_MULTIPLY)
        return old * new;
    if (is_nan(old) || is_nan(new))
        return nan_value();
    return MODE == VKF_INDEX_SCATTER_MAX ? max(old, new) : min(old, new);
}

void move(uint moved, int to, uint wide)
{
    to += to < 0 ? int(p.len) : 0;
    bool inside = uint(to) < p.len; // below 0 it is beyond any length
    uint place = wide + uint(to) * p.wide_step;
    if (MODE == VKF_INDEX_GATHER) {
        if (inside)
            MOVE(TYPE_X, out, moved, x, place);
        else
            out_store(moved, 0.0);
    } else if (inside) {
        if (MODE == VKF_INDEX_SCATTER)
            MOVE(TYPE_X, out, place, x, moved);
        else
            out_store(place, reduced(out_load(place), x_load(moved)));
    }
}

void main()
{
    uint i = flat_index();
    if (i >= p.count)
        return;
    uint c3 = i % p.n3, rest = i / p.n3, c2 = rest % p.n2;
    rest /= p.n2;
    uint c1 = rest % p.n1, c0 = rest / p.n1;
    uint moved = p.moved_first + c0 * p.moved_0 + c1 * p.moved_1 + c2 * p.moved_2 + c3 * p.moved_3;
    uint at = p.index_first + c0 * p.index_0 + c1 * p.index_1 + c2 * p.index_2 + c3 * p.index_3;
    uint wide = c0 * p.wide_0 + c1 * p.wide_1 + c2 * p.wide_2 + c3 * p.wide_3;
    for (uint step = 0; step < p.steps; ++step, moved += p.moved_step, at += p.index_step)
        move(moved, index_load(at), wide);
}

// Adds the parts of a matrix product whose k was cut, and applies the epilogue; semantics in shared/gemm_reduce.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/gemm_reduce.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_GEMM_REDUCE_SPEC_ACTIVATION) const uint ACTIVATION = 0;
layout(constant_id = VKF_GEMM_REDUCE_SPEC_HAS_BIAS) const uint HAS_BIAS = 0;
layout(constant_id = VKF_GEMM_REDUCE_SPEC_ADD_AFTER) const uint ADD_AFTER = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_gemm_reduce_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, d_offset, bias_offset; };

READ(f32, VKF_GEMM_REDUCE_BINDING_X, x)
READ_WRITE(TYPE_D, VKF_GEMM_REDUCE_BINDING_D, d)
READ(TYPE_B, VKF_GEMM_REDUCE_BINDING_BIAS, bias)

#include "include/product_store.glsl"

void main()
{
    uint i = flat_index();
    if (i >= p.count)
        return;
    float sum = 0.0;
    for (uint s = 0; s < p.splits; ++s)
        sum += x_load(s * p.count + i);
    uint col = i % p.n;
    uint row = i / p.n % p.m;
    uint entry = i / p.n / p.m;
    uint at = p.d_first + entry / p.batch_inner * p.d_outer + entry % p.batch_inner * p.d_inner + row * p.ldd + col;
    store_element(at, col, sum);
}

// Arithmetic in registers; semantics in shared/roof.h. It uses fma(), because some compilers leave a * b + c as two
// operations.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "shared/roof.h"
#include "include/grid.glsl"

layout(constant_id = VKF_ROOF_FMA_SPEC_CHAINS) const uint CHAINS = 2;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_roof_fma_params p; };
layout(push_constant) uniform offsets_block { uint out_offset; };
layout(set = 0, binding = VKF_ROOF_FMA_BINDING_OUT, std430) writeonly buffer out_buffer { float result[]; };

// One step of every chain. Conditions are constant, so that no branch is left.
#define STEP              \
    a = fma(a, f, s);     \
    b = fma(b, f, s);     \
    if (CHAINS > 2)       \
        c = fma(c, f, s); \
    if (CHAINS > 3)       \
        d = fma(d, f, s);

void main()
{
    uint i = flat_index();
    vec4 f = vec4(p.factor);
    vec4 s = vec4(p.addend);
    vec4 a = vec4(float(i & 7u)) + vec4(0.0, 0.25, 0.5, 0.75);
    vec4 b = a + 1.0;
    vec4 c = a + 2.0;
    vec4 d = a + 3.0;
    for (uint r = 0; r < p.rounds; r++) {
        STEP STEP STEP STEP STEP STEP STEP STEP // VKF_ROOF_FMA_STEPS
    }
    vec4 sum = a + b;
    if (CHAINS > 2)
        sum += c;
    if (CHAINS > 3)
        sum += d;
    if (i < p.count)
        result[out_offset + i] = sum.x + sum.y + sum.z + sum.w;
}

// A square of pixels for each attention weight: queries down, keys across, brighter where a query looks.
#version 450

layout(constant_id = 0) const uint LEN = 1;  // queries, and keys
layout(constant_id = 1) const uint CELL = 1; // pixels of a weight's side

layout(set = 0, binding = 0, std430) readonly buffer weights_block { float weights[]; }; // (LEN, LEN)

layout(location = 0) out vec4 color;

void main()
{
    uvec2 cell = uvec2(gl_FragCoord.xy) / CELL;
    color = vec4(vec3(weights[cell.y * LEN + cell.x]), 1.0);
}

// Puts an operand of attention beside another one of the same rows; semantics in shared/attention_grad.h. With DELTAS
// it also sums x * out over each row.
//
// VKF_ATTENTION_GRAD_PACK_LANES invocations share a row, and divide the local size.
// Grid: a workgroup per as many rows, in any fold of two dimensions.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "include/storage.glsl"
#include "shared/attention_grad.h"
#include "include/grid.glsl"
#include "include/local_size.glsl"

layout(constant_id = VKF_ATTENTION_GRAD_PACK_SPEC_LANES) const uint LANES = 16;
layout(constant_id = VKF_ATTENTION_GRAD_PACK_SPEC_DELTAS) const uint DELTAS = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_attention_grad_pack_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, rows_offset, out_offset, deltas_offset; };

READ(TYPE_X, VKF_ATTENTION_GRAD_PACK_BINDING_X, x)
STORAGE_BLOCK(writeonly, vec4, VKF_ATTENTION_GRAD_PACK_BINDING_ROWS, rows)
READ(TYPE_X, VKF_ATTENTION_GRAD_PACK_BINDING_OUT, out)
WRITE(f32, VKF_ATTENTION_GRAD_PACK_BINDING_DELTAS, deltas)

shared float lane_sums[LOCAL_SIZE];

struct row_view {
    uint x_first;
    uint out_first;
};

// Remainders by multiplication: on processors divisions take longer than copying a row.
row_view view_row(uint row)
{
    uint group = p.group, len = p.len, kv_heads = p.kv_heads;
    uint place = row / group, head = place / len, key_head = p.first_key_head + head, b = key_head / kv_heads;
    uint l = place - head * len, h = (key_head - b * kv_heads) * group + row - place * group;
    row_view view;
    view.x_first = b * p.x_batch + l * p.x_row + h * p.x_head;
    view.out_first = b * p.out_batch + l * p.out_row + h * p.out_head;
    return view;
}

// Copies the lane's quads of the row. Returns what they add to its delta.
float copy_row(uint row, uint lane)
{
    row_view view = view_row(row);
    float sum = 0.0;
    for (uint quad = lane; quad < (p.width + 3) / 4; quad += LANES) {
        vec4 value = vec4(0.0);
        [[unroll]] for (uint c = 0; c < 4; ++c) {
            uint col = 4 * quad + c;
            if (col < p.width) {
                value[c] = x_load(view.x_first + col);
                if (DELTAS != 0)
                    sum += value[c] * out_load(view.out_first + col);
            }
        }
        rows_data[rows_offset / 4 + row * p.row_quads + p.first_quad + quad] = value;
    }
    return sum;
}

void main()
{
    uint row = flat_index() / LANES, lane = flat_index() % LANES;
    float sum = row < p.rows ? copy_row(row, lane) : 0.0;
    if (LANES > 1) {
        lane_sums[gl_LocalInvocationID.x] = sum;
        barrier();
    }
    if (DELTAS != 0 && lane == 0 && row < p.rows) {
        [[unroll]] for (uint i = 1; i < LANES; ++i)
            sum += lane_sums[gl_LocalInvocationID.x + i];
        deltas_store(p.first_key_head * p.len * p.group + row, sum);
    }
}

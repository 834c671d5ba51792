// Numbers to bytes and back; semantics in shared/quantize_linear.h.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

#include "shared/quantize_linear.h"
#include "include/grid.glsl"
#include "include/math.glsl"

layout(constant_id = VKF_QUANTIZE_LINEAR_SPEC_X) const uint X = VKF_QUANTIZE_LINEAR_F32;
layout(constant_id = VKF_QUANTIZE_LINEAR_SPEC_OUT) const uint OUT = VKF_QUANTIZE_LINEAR_I8;
layout(constant_id = VKF_QUANTIZE_LINEAR_SPEC_ZERO) const uint ZERO = VKF_QUANTIZE_LINEAR_NONE;
layout(constant_id = VKF_QUANTIZE_LINEAR_SPEC_HAS_SCALE) const uint HAS_SCALE = 0;

layout(set = 0, binding = VKF_BINDING_PARAMS, std140) uniform params_block { vkf_quantize_linear_params p; };
layout(push_constant) uniform offsets_block { uint x_offset, out_offset, scale_offset, zero_offset; };

layout(set = 0, binding = VKF_QUANTIZE_LINEAR_BINDING_X, std430) readonly buffer x_buffer { uint x_data[]; };
layout(set = 0, binding = VKF_QUANTIZE_LINEAR_BINDING_OUT, std430) buffer out_buffer { uint out_data[]; };
layout(set = 0, binding = VKF_QUANTIZE_LINEAR_BINDING_SCALE, std430) readonly buffer scale_buffer {
    float scale_data[];
};
layout(set = 0, binding = VKF_QUANTIZE_LINEAR_BINDING_ZERO, std430) readonly buffer zero_buffer { uint zero_data[]; };

const bool BYTES_OUT = OUT >= VKF_QUANTIZE_LINEAR_I8;

// A byte, the lowest of the word, or all of the word.
int integer_of(uint word, uint type)
{
    return type == VKF_QUANTIZE_LINEAR_I8   ? bitfieldExtract(int(word), 0, 8)
           : type == VKF_QUANTIZE_LINEAR_U8 ? int(word & 0xffu)
                                            : int(word);
}

uint x_word(uint i)
{
    uint at = x_offset + i;
    return X >= VKF_QUANTIZE_LINEAR_I8 ? x_data[at >> 2] >> ((at & 3u) << 3) : x_data[at];
}

int zero_of(uint channel)
{
    uint at = zero_offset + channel;
    if (ZERO == VKF_QUANTIZE_LINEAR_NONE)
        return 0;
    return integer_of(ZERO == VKF_QUANTIZE_LINEAR_I32 ? zero_data[at] : zero_data[at >> 2] >> ((at & 3u) << 3), ZERO);
}

// Devices divide with an error of 2.5 units in the last place, which would tear ties apart: the remainder corrects it.
float divide(float x, float scale)
{
    precise float quotient = x / scale;
    precise float corrected = quotient + fma(-quotient, scale, x) / scale;
    return abs(quotient) < 1e6 ? corrected : quotient;
}

float scale_of(uint channel)
{
    return HAS_SCALE != 0 ? scale_data[scale_offset + channel] : 1.0;
}

uint byte_of(uint i)
{
    uint channel = i / p.inner % p.channels;
    float x = uintBitsToFloat(x_word(i));
    float steps = is_nan(x) ? 0.0 : roundEven(clamp(divide(x, scale_of(channel)), -1024.0, 1024.0));
    int least = OUT == VKF_QUANTIZE_LINEAR_I8 ? -128 : 0;
    return uint(clamp(int(steps) + zero_of(channel), least, least + 255)) & 0xffu;
}

// The word's bytes that are outputs; all others stay, which may belong to other tensors.
void store_bytes(uint word)
{
    uint lead = out_offset & 3u, at = (out_offset >> 2) + word, bits = 0, mask = 0;
    [[unroll]] for (uint j = 0; j < 4; ++j) {
        uint i = 4 * word + j - lead; // beyond all where it would be negative
        if (i < p.count) {
            bits |= byte_of(i) << (8 * j);
            mask |= 0xffu << (8 * j);
        }
    }
    if (mask == 0xffffffffu) {
        out_data[at] = bits;
    } else if (mask != 0) {
        atomicAnd(out_data[at], ~mask);
        atomicOr(out_data[at], bits);
    }
}

void main()
{
    uint i = flat_index();
    if (BYTES_OUT) {
        store_bytes(i);
    } else if (i < p.count) {
        uint channel = i / p.inner % p.channels;
        int value = integer_of(x_word(i), X) - zero_of(channel);
        out_data[out_offset + i] =
            OUT == VKF_QUANTIZE_LINEAR_F32 ? floatBitsToUint(float(value) * scale_of(channel)) : uint(value);
    }
}

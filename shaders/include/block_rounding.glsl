// How the activations of a block become signed bytes (shared/quantize_rows.h). Whoever rounds a block divides it among
// invocations in its own way, and all get the same bits: maxima and sums of integers do not depend on their order.
#ifndef VKF_BLOCK_ROUNDING_GLSL
#define VKF_BLOCK_ROUNDING_GLSL

// The largest magnitude, as bits: these are ordered as the numbers are, NaN above all.
uint magnitude_of(vec4 x)
{
    uvec4 bits = floatBitsToUint(x) & 0x7fffffffu;
    return max(max(bits.x, bits.y), max(bits.z, bits.w));
}

// Word i of the two that eight elements make in the order for q4.
vec4 even_odd_word(vec4 low, vec4 high, uint i)
{
    return i == 0 ? vec4(low.xz, high.xz) : vec4(low.yw, high.yw);
}

bool is_finite_block(uint largest)
{
    return largest < 0x7f800000u;
}

bool is_some_block(uint largest)
{
    return is_finite_block(largest) && uintBitsToFloat(largest) >= VKF_QUANTIZE_ROWS_LEAST;
}

// Elements of a block whose largest magnitude this is. GPUs divide by way of the reciprocal, and the reciprocal of a
// number beyond 2^126 is none that they have to keep: such numbers are made smaller first, without rounding.
ivec4 rounded(vec4 x, uint largest)
{
    float magnitude = uintBitsToFloat(largest), lowered = magnitude > 1e30 ? 1.0 / 4294967296.0 : 1.0;
    vec4 steps = x * lowered * (127.0 / (magnitude * lowered));
    return ivec4(roundEven(is_some_block(largest) ? steps : vec4(0.0)));
}

int sum_of(ivec4 q)
{
    return q.x + q.y + q.z + q.w;
}

uint bytes_of(ivec4 q)
{
    uvec4 bytes = uvec4(q) & 0xffu;
    return bytes.x | bytes.y << 8 | bytes.z << 16 | bytes.w << 24;
}

// The scale of a block, and the scale times the sum of its elements.
vec2 head_of(uint largest, int sum)
{
    if (!is_finite_block(largest))
        return uintBitsToFloat(uvec2(0x7fc00000u));
    // Multiplied by a constant, because a division need not be exact, and 127 over 127 has to be 1.
    float scale = is_some_block(largest) ? uintBitsToFloat(largest) * (1.0 / 127.0) : 0.0;
    return vec2(scale, scale * float(sum));
}

#endif

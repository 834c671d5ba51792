// Which of two numbers is the larger one: keys whose order as integers is that of the floats, with NaN above all.
#ifndef VKF_ORDER_KEY_GLSL
#define VKF_ORDER_KEY_GLSL

const uint KEY_LOWEST = 0x007fffffu, KEY_HIGHEST = 0xff800000u; // of -inf and +inf
const uint KEY_NAN = 0xffffffffu;
const uvec2 NOTHING = uvec2(0u, 0xffffffffu); // below any number

// Both zeros have one key.
uint order_key(float value)
{
    uint bits = floatBitsToUint(value);
    uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u)
        return KEY_NAN;
    if (magnitude == 0u)
        return 0x80000000u;
    return bits == magnitude ? bits | 0x80000000u : ~bits;
}

// The larger of two pairs of a key and an index; of equal keys the lower index.
uvec2 better(uvec2 a, uvec2 b)
{
    return b.x > a.x || (b.x == a.x && b.y < a.y) ? b : a;
}

#endif

// Conversions on bit patterns of IEEE 754-2008. A float32 has 8 exponent bits (bias 127) and 23 mantissa bits, a half
// has 5 (bias 15) and 10. A bfloat16 is the upper half of a float32.
#include "base/half.h"

#include <math.h>
#include <string.h>

#define FLOAT_INFINITY 0x7f800000u
#define FLOAT_HALF_OVERFLOW 0x477ff000u // 65520: halfway between the largest half and the next power of two
#define FLOAT_HALF_NORMAL 0x38800000u   // 2^-14, the smallest normal half
#define FLOAT_HALF_ZERO 0x33000000u     // 2^-25, half of the smallest subnormal half: ties to zero

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// Drops the lowest `shift` bits (1..31), rounding to nearest even. A carry runs into the exponent, as it should.
static uint32_t shift_to_even(uint32_t bits, uint32_t shift)
{
    uint32_t rest = bits & ((1u << shift) - 1);
    uint32_t tie = 1u << (shift - 1);
    uint32_t kept = bits >> shift;
    return kept + (rest > tie || (rest == tie && (kept & 1u)));
}

uint16_t vkf__half_from_float(float value)
{
    uint32_t bits = float_bits(value);
    uint32_t sign = (bits >> 16) & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > FLOAT_INFINITY)
        return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
    if (magnitude >= FLOAT_HALF_OVERFLOW)
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude >= FLOAT_HALF_NORMAL)
        return (uint16_t)(sign | shift_to_even(magnitude - ((127u - 15u) << 23), 13));
    if (magnitude <= FLOAT_HALF_ZERO)
        return (uint16_t)sign;
    // A subnormal half counts units of 2^-24; the mantissa with its hidden bit counts units of 2^(exponent - 150).
    uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
    return (uint16_t)(sign | shift_to_even(mantissa, 126u - (magnitude >> 23)));
}

float vkf__float_from_half(uint16_t half)
{
    uint32_t sign = (half & 0x8000u) << 16;
    uint32_t exponent = (half >> 10) & 0x1fu;
    uint32_t mantissa = half & 0x3ffu;
    if (exponent == 0x1fu)
        return float_of_bits(sign | FLOAT_INFINITY | (mantissa << 13));
    if (exponent != 0)
        return float_of_bits(sign | ((exponent + 127u - 15u) << 23) | (mantissa << 13));
    float magnitude = (float)mantissa * 0x1p-24f; // exact: zero or a subnormal half, which is a normal float32
    return float_of_bits(sign | float_bits(magnitude));
}

uint16_t vkf__bfloat_from_float(float value)
{
    uint32_t bits = float_bits(value);
    if ((bits & 0x7fffffffu) > FLOAT_INFINITY)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)shift_to_even(bits, 16);
}

float vkf__float_from_bfloat(uint16_t bfloat)
{
    return float_of_bits((uint32_t)bfloat << 16);
}

// Rounds to odd in between (Boldo and Melquiond, "When double rounding is odd"): a float32 that had to be rounded is
// truncated, and its last bit is set. It is then never a tie for the second rounding unless the double was one.
static float round_to_odd(double value)
{
    float nearest = (float)value;
    if ((double)nearest == value || isnan(value))
        return nearest;
    uint32_t bits = float_bits(nearest);
    if (fabs((double)nearest) > fabs(value))
        bits--; // truncate: one step towards zero
    return float_of_bits(bits | 1u);
}

uint16_t vkf__half_from_double(double value)
{
    return vkf__half_from_float(round_to_odd(value));
}

uint16_t vkf__bfloat_from_double(double value)
{
    return vkf__bfloat_from_float(round_to_odd(value));
}

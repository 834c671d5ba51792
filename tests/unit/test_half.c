// Reference values are computed with ldexp from the formats' definition; all of them are exact in double.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <vkformer/tensor.h>

#include "base/half.h"

// A 16-bit format: sign, exponent, mantissa.
typedef struct narrow_format {
    unsigned mantissa_bits;
    int min_exponent;   // of normal numbers
    uint16_t infinity;  // positive
    uint16_t quiet_bit; // of a NaN
    uint16_t (*from_float)(float value);
    float (*to_float)(uint16_t bits);
    uint16_t (*from_double)(double value);
} narrow_format;

static narrow_format half_format = {
    10, -14, 0x7c00, 0x200, vkf__half_from_float, vkf__float_from_half, vkf__half_from_double};
static narrow_format bfloat_format = {
    7, -126, 0x7f80, 0x40, vkf__bfloat_from_float, vkf__float_from_bfloat, vkf__bfloat_from_double};

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The value of finite positive bits, by definition.
static double value_of(const narrow_format *format, uint16_t bits)
{
    unsigned exponent = (unsigned)bits >> format->mantissa_bits;
    unsigned mantissa = bits & ((1u << format->mantissa_bits) - 1);
    if (exponent == 0)
        return ldexp((double)mantissa, format->min_exponent - (int)format->mantissa_bits);
    double whole = (double)(mantissa + (1u << format->mantissa_bits));
    return ldexp(whole, format->min_exponent - (int)format->mantissa_bits + (int)exponent - 1);
}

static void test_to_float_is_exact_for_all_bits(void **state)
{
    const narrow_format *format = *state;
    for (uint32_t bits = 0; bits < format->infinity; bits++) {
        assert_true((double)format->to_float((uint16_t)bits) == value_of(format, (uint16_t)bits));
        assert_true((double)format->to_float((uint16_t)(bits | 0x8000)) == -value_of(format, (uint16_t)bits));
    }
    assert_int_equal(bits_of(format->to_float(0x8000)), 0x80000000u);
    assert_int_equal(bits_of(format->to_float(format->infinity)), 0x7f800000u);
    assert_int_equal(bits_of(format->to_float(format->infinity | 0x8000)), 0xff800000u);
    for (uint32_t bits = format->infinity + 1u; bits < 0x8000; bits++)
        assert_true(isnan(format->to_float((uint16_t)bits)) && isnan(format->to_float((uint16_t)(bits | 0x8000))));
}

// A signalling NaN becomes quiet and keeps its sign and payload; everything else comes back bit by bit.
static void test_round_trip_of_all_bits(void **state)
{
    const narrow_format *format = *state;
    for (uint32_t bits = 0; bits <= 0xffff; bits++) {
        bool nan = (bits & 0x7fff) > format->infinity;
        uint32_t expected = nan ? bits | format->quiet_bit : bits;
        assert_int_equal(format->from_float(format->to_float((uint16_t)bits)), expected);
    }
}

// Halfway between neighbours goes to the even one; a float32 step to either side goes to the nearer one. The neighbour
// above the largest finite number is infinity, as if the exponent went on.
static void test_from_float_rounds_ties_to_even(void **state)
{
    const narrow_format *format = *state;
    for (uint32_t bits = 0; bits < format->infinity; bits++) {
        double low = value_of(format, (uint16_t)bits);
        double high = value_of(format, (uint16_t)(bits + 1));
        float middle = (float)(low / 2 + high / 2);
        assert_true((double)middle == low / 2 + high / 2);
        uint16_t even = (uint16_t)(bits + (bits & 1));
        for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000) {
            float tie = sign ? -middle : middle;
            assert_int_equal(format->from_float(tie), even | sign);
            assert_int_equal(format->from_float(float_of(bits_of(tie) - 1)), bits | sign);
            assert_int_equal(format->from_float(float_of(bits_of(tie) + 1)), (bits + 1) | sign);
        }
    }
}

static void test_from_float_of_extremes(void **state)
{
    const narrow_format *format = *state;
    assert_int_equal(format->from_float(INFINITY), format->infinity);
    assert_int_equal(format->from_float(-INFINITY), format->infinity | 0x8000);
    assert_int_equal(format->from_float(float_of(0x7f7fffff)), format->infinity);
    assert_int_equal(format->from_float(0.0f), 0);
    assert_int_equal(format->from_float(-0.0f), 0x8000);
    assert_int_equal(format->from_float(float_of(1)), 0);
    assert_int_equal(format->from_float(float_of(0x80000001)), 0x8000);
}

// A NaN whose payload lies in the dropped bits alone must not become infinity.
static void test_from_float_keeps_nan(void **state)
{
    const narrow_format *format = *state;
    static const uint32_t nans[] = {0x7f800001, 0x7fffffff, 0x7fc00000, 0xff800001, 0xffffffff};
    for (size_t i = 0; i < sizeof nans / sizeof *nans; i++) {
        uint16_t bits = format->from_float(float_of(nans[i]));
        assert_in_range(bits & 0x7fff, format->infinity + 1, 0x7fff);
        assert_int_equal(bits >> 15, nans[i] >> 31);
    }
}

static void test_half_from_float_of_known_values(void **state)
{
    (void)state;
    assert_int_equal(vkf__half_from_float(1.0f), 0x3c00);
    assert_int_equal(vkf__half_from_float(-2.0f), 0xc000);
    assert_int_equal(vkf__half_from_float(65504.0f), 0x7bff);
    assert_int_equal(vkf__half_from_float(65519.996f), 0x7bff);
    assert_int_equal(vkf__half_from_float(65520.0f), 0x7c00);
    assert_int_equal(vkf__half_from_float(0x1p-24f), 0x0001);
    assert_int_equal(vkf__half_from_float(0x1p-25f), 0x0000);
    assert_int_equal(vkf__half_from_float(0x1.8p-24f), 0x0002);
    assert_int_equal(vkf__bfloat_from_float(1.0f), 0x3f80);
    assert_int_equal(vkf__bfloat_from_float(3.14159265f), 0x4049);
}

static void test_from_double_agrees_with_float(void **state)
{
    const narrow_format *format = *state;
    for (uint32_t bits = 0; bits < 0x7f800000; bits += 4093) { // a prime: the low bits vary
        assert_int_equal(format->from_double((double)float_of(bits)), format->from_float(float_of(bits)));
        assert_int_equal(format->from_double(-(double)float_of(bits)), format->from_float(-float_of(bits)));
    }
    uint16_t nan_bits = (uint16_t)(format->infinity | format->quiet_bit);
    assert_int_equal(format->from_double((double)INFINITY), format->infinity);
    assert_int_equal(format->from_double((double)NAN) & nan_bits, nan_bits);
}

// Just beside a tie, by less than a float32 can tell: rounding to float32 first would make it a tie.
static void test_from_double_rounds_once(void **state)
{
    const narrow_format *format = *state;
    for (uint32_t bits = 0; bits < format->infinity; bits++) {
        double tie = value_of(format, (uint16_t)bits) / 2 + value_of(format, (uint16_t)(bits + 1)) / 2;
        assert_int_equal(format->from_double(tie), bits + (bits & 1));
        assert_int_equal(format->from_double(tie * (1 + 0x1p-40)), bits + 1);
        assert_int_equal(format->from_double(tie * (1 - 0x1p-40)), bits);
        assert_int_equal(format->from_double(-tie * (1 + 0x1p-40)), (bits + 1) | 0x8000);
    }
    assert_int_equal(format->from_double(1e300), format->infinity);
    assert_int_equal(format->from_double(-1e-300), 0x8000);
}

static void test_f32_to_f16_and_back_in_arrays(void **state)
{
    (void)state;
    const float values[4] = {0.5f, -65504.0f, 0x1p-24f, 100000.0f};
    const uint16_t expected[4] = {0x3800, 0xfbff, 0x0001, 0x7c00};
    uint16_t halves[5] = {0, 0, 0, 0, 0xbeef};
    float back[5] = {0, 0, 0, 0, 42.0f};
    vkf_f32_to_f16(values, halves, 4);
    assert_memory_equal(halves, expected, sizeof expected);
    assert_int_equal(halves[4], 0xbeef);
    vkf_f16_to_f32(halves, back, 4);
    assert_memory_equal(back, values, 3 * sizeof *values);
    assert_true(isinf(back[3]) && back[3] > 0);
    assert_true(back[4] == 42.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_to_float_is_exact_for_all_bits, &half_format),
        cmocka_unit_test_prestate(test_to_float_is_exact_for_all_bits, &bfloat_format),
        cmocka_unit_test_prestate(test_round_trip_of_all_bits, &half_format),
        cmocka_unit_test_prestate(test_round_trip_of_all_bits, &bfloat_format),
        cmocka_unit_test_prestate(test_from_float_rounds_ties_to_even, &half_format),
        cmocka_unit_test_prestate(test_from_float_rounds_ties_to_even, &bfloat_format),
        cmocka_unit_test_prestate(test_from_float_of_extremes, &half_format),
        cmocka_unit_test_prestate(test_from_float_of_extremes, &bfloat_format),
        cmocka_unit_test_prestate(test_from_float_keeps_nan, &half_format),
        cmocka_unit_test_prestate(test_from_float_keeps_nan, &bfloat_format),
        cmocka_unit_test(test_half_from_float_of_known_values),
        cmocka_unit_test_prestate(test_from_double_agrees_with_float, &half_format),
        cmocka_unit_test_prestate(test_from_double_agrees_with_float, &bfloat_format),
        cmocka_unit_test_prestate(test_from_double_rounds_once, &half_format),
        cmocka_unit_test_prestate(test_from_double_rounds_once, &bfloat_format),
        cmocka_unit_test(test_f32_to_f16_and_back_in_arrays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

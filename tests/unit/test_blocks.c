// Blocks of weights against their definition: what is stored, how near it is, and where a panel has it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/blocks.h"
#include "base/half.h"

#define ROWS 5
#define K 96
#define BLOCKS (ROWS * K / VKF_BLOCK)

typedef struct type_case {
    vkf_dtype dtype;
    size_t block_bytes;
    float constant; // the relative error of a block of one value
} type_case;

static type_case q8 = {VKF_DTYPE_Q8, VKF_Q8_BLOCK_BYTES, 0x1p-11f};
static type_case q4 = {VKF_DTYPE_Q4, VKF_Q4_BLOCK_BYTES, 0x1p-7f};

static void fill(float *values, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = ldexpf((float)(seed >> 8) - 8388608.0f, (int)(i / VKF_BLOCK) - 24);
    }
}

// What a block's values are apart, 0 among them.
static float range_of(const float *block)
{
    float least = 0, most = 0;
    for (size_t i = 0; i < VKF_BLOCK; i++) {
        least = fminf(least, block[i]);
        most = fmaxf(most, block[i]);
    }
    return most - least;
}

// No error is beyond half a step and what rounding of the scale adds at the ends, in q4 also half a step of the zero's
// and a twentieth of the range, by which the ends may be clamped; but all together are no more than half a step each.
static void assert_near(const type_case *type, const float *values, const float *back)
{
    float largest = 0, squares = 0, range = range_of(values);
    for (size_t i = 0; i < VKF_BLOCK; i++)
        largest = fmaxf(largest, fabsf(values[i]));
    const float step = fmaxf(type == &q8 ? largest / 127 : range / 15, 0x1p-14f);
    for (size_t i = 0; i < VKF_BLOCK; i++) {
        const float error = fabsf(values[i] - back[i]);
        assert_true(error <= (type == &q8 ? step / 2 + largest * 0x1p-9f : step + range / 20));
        squares += error * error;
    }
    assert_true(sqrtf(squares / VKF_BLOCK) <= step / 2 * (1 + 0x1p-5f));
}

static void test_values_come_back_within_half_a_step(void **state)
{
    const type_case *type = *state;
    float values[ROWS * K], back[ROWS * K];
    uint8_t blocks[BLOCKS * VKF_Q8_BLOCK_BYTES];
    fill(values, ROWS * K, 1);
    vkf__blocks_from_f32(type->dtype, values, BLOCKS, blocks);
    vkf__blocks_to_f32(type->dtype, blocks, BLOCKS, back);
    for (size_t i = 0; i < ROWS * K; i += VKF_BLOCK)
        assert_near(type, values + i, back + i);
}

static void test_blocks_are_stored_as_defined(void **state)
{
    (void)state;
    float values[VKF_BLOCK];
    uint8_t block[VKF_Q8_BLOCK_BYTES];
    for (int i = 0; i < VKF_BLOCK; i++)
        values[i] = (float)(i - 16) * 0.25f;
    values[0] = -127 * 0.25f;
    vkf__blocks_from_f32(VKF_DTYPE_Q8, values, 1, block);
    assert_int_equal(block[0] | block[1] << 8, vkf__half_from_float(0.25f));
    assert_int_equal((int8_t)block[2], -127);
    for (int i = 1; i < VKF_BLOCK; i++)
        assert_int_equal((int8_t)block[2 + i], i - 16);
    for (int i = 0; i < VKF_BLOCK; i++)
        values[i] = -2.0f + 0.5f * (float)(i % 16);
    vkf__blocks_from_f32(VKF_DTYPE_Q4, values, 1, block);
    assert_int_equal(block[0] | block[1] << 8, vkf__half_from_float(0.5f) | 4);
    for (int i = 0; i < VKF_BLOCK; i++)
        assert_int_equal(block[2 + i / 2] >> (i % 2 * 4) & 15, i % 16);
}

// All but two values are multiples of 0.95. The two are cut short, because steps of 1 would suit none of the others.
static void test_smaller_steps_where_they_have_less_error(void **state)
{
    (void)state;
    float values[VKF_BLOCK], back[VKF_BLOCK], squares = 0;
    uint8_t block[VKF_Q8_BLOCK_BYTES];
    for (int i = 0; i < VKF_BLOCK; i++)
        values[i] = (float)(i % 16 - 8) * 0.95f;
    values[0] -= 0.375f;
    values[15] += 0.375f;
    vkf__blocks_from_f32(VKF_DTYPE_Q4, values, 1, block);
    vkf__blocks_to_f32(VKF_DTYPE_Q4, block, 1, back);
    for (int i = 0; i < VKF_BLOCK; i++)
        squares += i % 16 == 0 || i % 16 == 15 ? 0 : (values[i] - back[i]) * (values[i] - back[i]);
    assert_true(sqrtf(squares / VKF_BLOCK) < 0.03f);
    assert_true(back[0] > -7.8f && back[15] < 6.8f);
}

static void test_constant_blocks_are_nearly_exact(void **state)
{
    const type_case *type = *state;
    static const float constants[] = {0, 1, -0.375f};
    for (size_t c = 0; c < 3; c++) {
        float values[VKF_BLOCK], back[VKF_BLOCK];
        uint8_t block[VKF_Q8_BLOCK_BYTES];
        for (int i = 0; i < VKF_BLOCK; i++)
            values[i] = constants[c];
        vkf__blocks_from_f32(type->dtype, values, 1, block);
        vkf__blocks_to_f32(type->dtype, block, 1, back);
        for (int i = 0; i < VKF_BLOCK; i++)
            assert_true(fabsf(back[i] - values[i]) <= fabsf(values[i]) * type->constant);
    }
}

static void test_too_large_values_stay_finite(void **state)
{
    const type_case *type = *state;
    float values[VKF_BLOCK] = {3e38f, -3e38f}, back[VKF_BLOCK];
    uint8_t block[VKF_Q8_BLOCK_BYTES];
    vkf__blocks_from_f32(type->dtype, values, 1, block);
    vkf__blocks_to_f32(type->dtype, block, 1, back);
    for (int i = 0; i < VKF_BLOCK; i++)
        assert_true(isfinite(back[i]));
    assert_true(back[0] > 65504 && back[1] <= -65504);
}

static bool has_subnormal_scale(const type_case *type, const uint8_t *block)
{
    uint16_t bits = (uint16_t)(block[0] | block[1] << 8) & (type == &q4 ? 0xfff0 : 0xffff);
    return (bits & 0x7c00) == 0 && (bits & 0x03ff) != 0;
}

// Devices may read subnormal halves as zeros. A block of small weights has steps of 2^-14 instead.
static void test_scales_are_never_subnormal(void **state)
{
    const type_case *type = *state;
    for (int exponent = -40; exponent < 4; exponent++) {
        float values[VKF_BLOCK], back[VKF_BLOCK];
        uint8_t block[VKF_Q8_BLOCK_BYTES];
        fill(values, VKF_BLOCK, (uint32_t)(exponent + 100));
        for (int i = 0; i < VKF_BLOCK; i++)
            values[i] = ldexpf(exponent % 3 == 0 ? fabsf(values[i]) : values[i], exponent);
        vkf__blocks_from_f32(type->dtype, values, 1, block);
        vkf__blocks_to_f32(type->dtype, block, 1, back);
        assert_false(has_subnormal_scale(type, block));
        assert_near(type, values, back);
    }
}

static uint32_t word_at(const uint8_t *bytes, size_t word)
{
    uint32_t value;
    memcpy(&value, bytes + word * 4, sizeof value);
    return value;
}

// Element k of column c as the header says that a panel has it.
static float panel_value(const type_case *type, const uint8_t *panel, uint32_t c, uint32_t k)
{
    const uint8_t *tile = panel + (size_t)(k / VKF_BLOCK) * VKF_BLOCK_PANEL * type->block_bytes;
    uint32_t in = k % VKF_BLOCK;
    uint16_t head = (uint16_t)(word_at(tile, c / 2) >> (c % 2 * 16));
    if (type->dtype == VKF_DTYPE_Q8)
        return vkf__float_from_half(head) * (float)(int8_t)(word_at(tile, 16 + in / 4 * 32 + c) >> (in % 4 * 8));
    int q = (int)(word_at(tile, 16 + in / 8 * 32 + c) >> (in % 8 * 4) & 15u);
    return vkf__float_from_half(head & 0xfff0) * (float)(q - (head & 15));
}

static void test_panel_has_every_row(void **state)
{
    const type_case *type = *state;
    float values[ROWS * K], back[ROWS * K];
    uint8_t blocks[BLOCKS * VKF_Q8_BLOCK_BYTES], panel[K * VKF_Q8_BLOCK_BYTES];
    fill(values, ROWS * K, 2);
    vkf__blocks_from_f32(type->dtype, values, BLOCKS, blocks);
    vkf__blocks_to_f32(type->dtype, blocks, BLOCKS, back);
    memset(panel, 0xff, sizeof panel);
    vkf__blocks_to_panels(type->dtype, blocks, ROWS, K, panel);
    for (uint32_t c = 0; c < VKF_BLOCK_PANEL; c++) {
        for (uint32_t k = 0; k < K; k++)
            assert_true(panel_value(type, panel, c, k) == (c < ROWS ? back[c * K + k] : 0));
    }
    uint8_t again[sizeof blocks];
    memset(again, 0xff, sizeof again);
    vkf__blocks_from_panels(type->dtype, panel, ROWS, K, again);
    assert_memory_equal(again, blocks, BLOCKS * vkf_dtype_block_bytes(type->dtype));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_values_come_back_within_half_a_step, &q8),
        cmocka_unit_test_prestate(test_values_come_back_within_half_a_step, &q4),
        cmocka_unit_test(test_blocks_are_stored_as_defined),
        cmocka_unit_test(test_smaller_steps_where_they_have_less_error),
        cmocka_unit_test_prestate(test_constant_blocks_are_nearly_exact, &q8),
        cmocka_unit_test_prestate(test_constant_blocks_are_nearly_exact, &q4),
        cmocka_unit_test_prestate(test_too_large_values_stay_finite, &q8),
        cmocka_unit_test_prestate(test_too_large_values_stay_finite, &q4),
        cmocka_unit_test_prestate(test_scales_are_never_subnormal, &q8),
        cmocka_unit_test_prestate(test_scales_are_never_subnormal, &q4),
        cmocka_unit_test_prestate(test_panel_has_every_row, &q8),
        cmocka_unit_test_prestate(test_panel_has_every_row, &q4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

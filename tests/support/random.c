// Generates random numbers, and fills arrays with them.
#include "support/random.h"

#include <math.h>

static uint64_t rotate(uint64_t value, unsigned bits)
{
    return value << bits | value >> (64 - bits);
}

void vkf_test_random_init(vkf_test_random *random, uint64_t seed)
{
    for (size_t i = 0; i < 4; i++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t mixed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        random->state[i] = mixed ^ mixed >> 31;
    }
}

uint64_t vkf_test_random_u64(vkf_test_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate(s[1] * 5, 7) * 9;
    uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate(s[3], 45);
    return result;
}

uint32_t vkf_test_random_below(vkf_test_random *random, uint32_t limit)
{
    return (uint32_t)((vkf_test_random_u64(random) >> 32) * limit >> 32);
}

// 0 <= value < 1, a multiple of 2^-53.
static double unit(vkf_test_random *random)
{
    return (double)(vkf_test_random_u64(random) >> 11) * 0x1p-53;
}

float vkf_test_random_uniform(vkf_test_random *random, float low, float high)
{
    float value = (float)(low + unit(random) * ((double)high - low));
    return value < high ? value : low; // rounding to float may reach `high`
}

// Box and Muller.
float vkf_test_random_normal(vkf_test_random *random)
{
    const double two_pi = 6.28318530717958647693;
    double radius = sqrt(-2 * log(1 - unit(random)));
    return (float)(radius * cos(two_pi * unit(random)));
}

void vkf_test_fill_uniform(vkf_test_random *random, float *out_values, size_t count, float low, float high)
{
    for (size_t i = 0; i < count; i++)
        out_values[i] = vkf_test_random_uniform(random, low, high);
}

void vkf_test_fill_normal(vkf_test_random *random, float *out_values, size_t count, float mean, float deviation)
{
    for (size_t i = 0; i < count; i++)
        out_values[i] = mean + deviation * vkf_test_random_normal(random);
}

void vkf_test_fill_integers(vkf_test_random *random, float *out_values, size_t count, int32_t low, int32_t high)
{
    uint32_t span = (uint32_t)((int64_t)high - low + 1);
    for (size_t i = 0; i < count; i++)
        out_values[i] = (float)(low + (int64_t)vkf_test_random_below(random, span));
}

void vkf_test_fill_bools(vkf_test_random *random, uint8_t *out_values, size_t count, double probability)
{
    for (size_t i = 0; i < count; i++)
        out_values[i] = unit(random) < probability;
}

void vkf_test_fill_ids(vkf_test_random *random, int32_t *out_ids, size_t count, uint32_t limit)
{
    for (size_t i = 0; i < count; i++)
        out_ids[i] = (int32_t)vkf_test_random_below(random, limit);
}

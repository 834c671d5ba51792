// Seeded random numbers for tests (xoshiro256**, seeded by splitmix64: Blackman and Vigna): the same on every machine.
#ifndef VKF_TESTS_RANDOM_H
#define VKF_TESTS_RANDOM_H

#include <stddef.h>
#include <stdint.h>

typedef struct vkf_test_random {
    uint64_t state[4];
} vkf_test_random;

void vkf_test_random_init(vkf_test_random *random, uint64_t seed);

uint64_t vkf_test_random_u64(vkf_test_random *random);
uint32_t vkf_test_random_below(vkf_test_random *random, uint32_t limit);       // 0 .. limit - 1; limit > 0
float vkf_test_random_uniform(vkf_test_random *random, float low, float high); // low <= value < high
float vkf_test_random_normal(vkf_test_random *random);                         // mean 0, deviation 1

void vkf_test_fill_uniform(vkf_test_random *random, float *out_values, size_t count, float low, float high);
void vkf_test_fill_normal(vkf_test_random *random, float *out_values, size_t count, float mean, float deviation);
// Whole numbers of low .. high: their products and sums are exact in float32 up to 2^24.
void vkf_test_fill_integers(vkf_test_random *random, float *out_values, size_t count, int32_t low, int32_t high);
// Bytes that are 1 with the given probability, otherwise 0: boolean masks.
void vkf_test_fill_bools(vkf_test_random *random, uint8_t *out_values, size_t count, double probability);
// 0 .. limit - 1: token ids.
void vkf_test_fill_ids(vkf_test_random *random, int32_t *out_ids, size_t count, uint32_t limit);

#endif

// A Feistel network is a permutation whatever its rounds compute. It has 4^n elements, fewer than four times as many as
// are wanted. From an element beyond them the walk goes on to the next of its cycle (cycle walking: Black and Rogaway,
// "Ciphers with Arbitrary Finite Domains", 2002).
#include "train/shuffle.h"

#include <assert.h>

// The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
static uint64_t mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

vkf_shuffle vkf_shuffle_make(uint32_t count, uint64_t seed, uint32_t epoch, uint32_t stream)
{
    vkf_shuffle shuffle = {.count = count, .half_bits = 1};
    uint64_t state = mix(mix(seed) ^ ((uint64_t)epoch << 32 | stream));
    while (shuffle.half_bits < 16 && UINT32_C(1) << 2 * shuffle.half_bits < count)
        shuffle.half_bits++;
    for (int i = 0; i < VKF_SHUFFLE_ROUNDS; i++) {
        state = mix(state);
        shuffle.keys[i] = (uint32_t)(state >> 32);
    }
    return shuffle;
}

static uint32_t permute(const vkf_shuffle *shuffle, uint32_t value)
{
    const uint32_t mask = (UINT32_C(1) << shuffle->half_bits) - 1;
    uint32_t left = value >> shuffle->half_bits, right = value & mask;
    for (int i = 0; i < VKF_SHUFFLE_ROUNDS; i++) {
        const uint32_t next = left ^ ((uint32_t)(mix((uint64_t)shuffle->keys[i] << 32 | right) >> 32) & mask);
        left = right;
        right = next;
    }
    return left << shuffle->half_bits | right;
}

uint32_t vkf_shuffle_at(const vkf_shuffle *shuffle, uint32_t place)
{
    assert(place < shuffle->count);
    uint32_t value = place;
    do
        value = permute(shuffle, value);
    while (value >= shuffle->count);
    return value;
}

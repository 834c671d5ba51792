// The order of what is trained on, as a function of numbers alone: an epoch can be entered anywhere without walking
// there, and is the same on every machine.
#ifndef VKF_PROGRAM_SHUFFLE_H
#define VKF_PROGRAM_SHUFFLE_H

#include <stdint.h>

#define VKF_SHUFFLE_ROUNDS 8

// A permutation of 0 .. count - 1 that is computed, not stored.
typedef struct vkf_shuffle {
    uint32_t count;
    uint32_t half_bits; // the permutation that is walked along has 4^half_bits elements
    uint32_t keys[VKF_SHUFFLE_ROUNDS];
} vkf_shuffle;

// `stream` tells apart permutations of one epoch, such as that of the batches and those of the examples in them.
vkf_shuffle vkf_shuffle_make(uint32_t count, uint64_t seed, uint32_t epoch, uint32_t stream);

// What stands at a place of the order; place < count.
uint32_t vkf_shuffle_at(const vkf_shuffle *shuffle, uint32_t place);

// Each of `ranks` machines takes every ranks-th of what they train on together: how many, and the place of the
// index-th. All have the same number, so up to ranks - 1 at the end of the order are left out of this epoch.
static inline uint32_t vkf_shuffle_share(uint32_t count, uint32_t ranks)
{
    return count / ranks;
}

static inline uint32_t vkf_shuffle_place(uint32_t rank, uint32_t ranks, uint32_t index)
{
    return index * ranks + rank;
}

#endif

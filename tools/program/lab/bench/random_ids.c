// Spreads ids over the vocabulary, reproducibly.
#include "lab/bench/random_ids.h"

void vkf_random_ids(uint32_t vocab, size_t count, int32_t *out_ids)
{
    uint32_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        out_ids[i] = (int32_t)(vocab > VKF_FIRST_ORDINARY_ID
                                   ? VKF_FIRST_ORDINARY_ID + (state >> 8) % (vocab - VKF_FIRST_ORDINARY_ID)
                                   : (state >> 8) % vocab);
    }
}

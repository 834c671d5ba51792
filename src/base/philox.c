// Random words by number.
#include "base/philox.h"

// The authors chose the multipliers, and the Weyl constants by which the key is raised.
void vkf__philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out_words[4])
{
    uint32_t *words = out_words, k0 = key[0], k1 = key[1];
    for (int i = 0; i < 4; i++)
        words[i] = counter[i];
    for (int round = 0; round < 10; round++) {
        const uint64_t first = UINT64_C(0xd2511f53) * words[0], second = UINT64_C(0xcd9e8d57) * words[2];
        const uint32_t next[4] = {(uint32_t)(second >> 32) ^ words[1] ^ k0, (uint32_t)second,
                                  (uint32_t)(first >> 32) ^ words[3] ^ k1, (uint32_t)first};
        for (int i = 0; i < 4; i++)
            words[i] = next[i];
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

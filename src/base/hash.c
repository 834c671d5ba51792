// FNV-1a, 64 bits.
#include "base/hash.h"

uint64_t vkf__hash(uint64_t seed, const void *data, size_t size_bytes)
{
    const uint8_t *bytes = data;
    uint64_t hash = seed;
    for (size_t i = 0; i < size_bytes; i++) {
        hash ^= bytes[i];
        hash *= UINT64_C(0x100000001b3);
    }
    return hash;
}

// Finds NaN and infinity in numbers that are on the host.
#include "model/load/finite.h"

#include <string.h>

#define BLOCK 4096u // elements examined before the first test

// Takes the largest magnitude as an integer: these order as the floats do, with NaN above infinity, and the compiler
// can vectorise the loop. Elements may begin at any address.
static bool words_finite(const uint8_t *bytes, size_t count)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        bits &= 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    return largest < 0x7f800000u;
}

static bool halves_finite(const uint8_t *bytes, size_t count, uint16_t infinity)
{
    uint16_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint16_t bits;
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        bits &= 0x7fffu;
        largest = bits > largest ? bits : largest;
    }
    return largest < infinity;
}

static bool elements_finite(vkf_dtype dtype, const void *values, uint64_t first, size_t count)
{
    const uint8_t *bytes = (const uint8_t *)values + first * vkf_dtype_size(dtype);
    if (dtype == VKF_DTYPE_F32)
        return words_finite(bytes, count);
    return halves_finite(bytes, count, dtype == VKF_DTYPE_F16 ? 0x7c00 : 0x7f80);
}

bool vkf__all_finite(const float *values, size_t count)
{
    return words_finite((const uint8_t *)values, count);
}

uint64_t vkf__first_not_finite(vkf_dtype dtype, const void *values, uint64_t count)
{
    uint64_t first = 0;
    while (first < count) {
        size_t part = (size_t)(count - first < BLOCK ? count - first : BLOCK);
        if (!elements_finite(dtype, values, first, part))
            break;
        first += part;
    }
    while (first < count && elements_finite(dtype, values, first, 1))
        first++;
    return first;
}

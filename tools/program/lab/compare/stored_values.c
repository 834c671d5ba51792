// Converts stored elements to double in loops that compilers can vectorise.
#include "lab/compare/stored_values.h"

#include <assert.h>
#include <string.h>

static uint64_t load_bits(const uint8_t *bytes, size_t size)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits |= (uint64_t)bytes[i] << (8 * i);
    return bits;
}

static void from_f64(const uint8_t *bytes, size_t count, double *out_values)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = load_bits(bytes + 8 * i, 8);
        memcpy(&out_values[i], &bits, sizeof bits);
    }
}

// Converts whole numbers of `size` bytes, which is a constant in every call.
static inline void from_whole(const uint8_t *bytes, size_t size, bool is_signed, size_t count, double *out_values)
{
    uint64_t sign = is_signed ? (uint64_t)1 << (8 * size - 1) : 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = load_bits(bytes + size * i, size);
        // The magnitude fits, even that of the most negative number.
        out_values[i] = bits & sign ? -(double)(sign - (bits & (sign - 1))) : (double)bits;
    }
}

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void from_f32(const uint8_t *bytes, size_t count, double *out_values)
{
    for (size_t i = 0; i < count; i++)
        out_values[i] = (double)float_of_bits((uint32_t)load_bits(bytes + 4 * i, 4));
}

// All ones where value < limit, both below 2^31. A comparison would become a branch, and keep the loop from being
// vectorised.
static uint32_t mask_below(uint32_t value, uint32_t limit)
{
    return 0u - ((value - limit) >> 31);
}

static uint32_t float_bits_of_half(uint32_t half)
{
    uint32_t magnitude = half & 0x7fffu;
    float subnormal = (float)(int32_t)magnitude * 0x1p-24f; // exact
    uint32_t small;
    memcpy(&small, &subnormal, sizeof small);
    uint32_t is_small = mask_below(magnitude, 0x400u);
    uint32_t is_finite = mask_below(magnitude, 0x7c00u);
    uint32_t normal = (magnitude << 13) + (112u << 23) + (~is_finite & 112u << 23); // all ones in infinity's exponent
    return (small & is_small) | (normal & ~is_small) | (half & 0x8000u) << 16;
}

static void from_f16(const uint8_t *bytes, size_t count, double *out_values)
{
    for (size_t i = 0; i < count; i++)
        out_values[i] = (double)float_of_bits(float_bits_of_half(bytes[2 * i] | (uint32_t)bytes[2 * i + 1] << 8));
}

static void from_bf16(const uint8_t *bytes, size_t count, double *out_values)
{
    for (size_t i = 0; i < count; i++)
        out_values[i] = (double)float_of_bits((uint32_t)bytes[2 * i] << 16 | (uint32_t)bytes[2 * i + 1] << 24);
}

static void convert(vkf__stored_type type, const uint8_t *bytes, size_t count, double *out_values)
{
    switch (type) {
    case VKF_STORED_F64:
        from_f64(bytes, count, out_values);
        break;
    case VKF_STORED_F32:
        from_f32(bytes, count, out_values);
        break;
    case VKF_STORED_F16:
        from_f16(bytes, count, out_values);
        break;
    case VKF_STORED_BF16:
        from_bf16(bytes, count, out_values);
        break;
    case VKF_STORED_I64:
        from_whole(bytes, 8, true, count, out_values);
        break;
    case VKF_STORED_I32:
        from_whole(bytes, 4, true, count, out_values);
        break;
    case VKF_STORED_I16:
        from_whole(bytes, 2, true, count, out_values);
        break;
    case VKF_STORED_I8:
        from_whole(bytes, 1, true, count, out_values);
        break;
    case VKF_STORED_U64:
        from_whole(bytes, 8, false, count, out_values);
        break;
    case VKF_STORED_U32:
        from_whole(bytes, 4, false, count, out_values);
        break;
    case VKF_STORED_U16:
        from_whole(bytes, 2, false, count, out_values);
        break;
    default:
        from_whole(bytes, 1, false, count, out_values);
    }
}

vkf_status vkf_stored_values(const vkf__stored_tensor *tensor, uint64_t first, size_t count, double *out_values)
{
    uint8_t room[VKF_STORED_VALUES_MAX * sizeof(uint64_t)];
    vkf__stored_tensor part;
    assert(count <= VKF_STORED_VALUES_MAX && first <= tensor->count && count <= tensor->count - first);
    vkf_status status = vkf__stored_part(tensor, first, count, room, &part);
    if (status == VKF_OK)
        convert(part.type, part.data, count, out_values);
    return status;
}

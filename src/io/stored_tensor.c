// Element types as files store them, and their conversion. Bytes are put together one by one: files are little-endian
// whatever the machine is, and a tensor may begin at any address.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "io/safetensors_header.h"

typedef struct stored_type_row {
    const char *name;
    size_t size_bytes;
} stored_type_row;

static const stored_type_row stored_type_rows[VKF_STORED_COUNT] = {
#define STORED_TYPE_ROW(name, text, bytes) [VKF_STORED_##name] = {text, bytes},
    VKF_STORED_TYPE_LIST(STORED_TYPE_ROW)
#undef STORED_TYPE_ROW
};

const char *vkf__stored_type_name(vkf__stored_type type)
{
    return (unsigned)type < VKF_STORED_COUNT ? stored_type_rows[type].name : "unknown";
}

size_t vkf__stored_type_size(vkf__stored_type type)
{
    return (unsigned)type < VKF_STORED_COUNT ? stored_type_rows[type].size_bytes : 0;
}

bool vkf__stored_type_from_name(const char *name, vkf__stored_type *out_type)
{
    for (size_t i = 0; i < VKF_STORED_COUNT; i++) {
        if (strcmp(name, stored_type_rows[i].name) == 0) {
            *out_type = (vkf__stored_type)i;
            return true;
        }
    }
    return false;
}

uint64_t vkf__stored_first_bad_bool(const vkf__stored_tensor *tensor)
{
    if (tensor->type == VKF_STORED_BOOL) {
        for (uint64_t i = 0; i < tensor->count; i++) {
            if (tensor->data[i] > 1)
                return i;
        }
    }
    return tensor->count;
}

static uint16_t load_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static float load_f32(const uint8_t *bytes)
{
    uint32_t bits = (uint32_t)load_u16(bytes) | (uint32_t)load_u16(bytes + 2) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double load_f64(const uint8_t *bytes)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < 8; i++)
        bits |= (uint64_t)bytes[i] << (8 * i);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

// The first selected element's bytes; NULL when the range is not within the tensor.
static const uint8_t *select_elements(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count)
{
    if (first > tensor->count || count > tensor->count - first)
        return NULL;
    return tensor->data + first * vkf__stored_type_size(tensor->type);
}

// Of 16 bits: a NaN has a magnitude above infinity's.
static uint64_t first_nan_16(const uint8_t *bytes, uint64_t count, uint16_t infinity)
{
    for (uint64_t i = 0; i < count; i++)
        if ((load_u16(bytes + 2 * i) & 0x7fff) > infinity)
            return i;
    return count;
}

static uint64_t first_nan_32(const uint8_t *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (isnan(load_f32(bytes + 4 * i)))
            return i;
    return count;
}

static uint64_t first_nan_64(const uint8_t *bytes, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (isnan(load_f64(bytes + 8 * i)))
            return i;
    return count;
}

uint64_t vkf__stored_first_nan(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count)
{
    const uint8_t *bytes = select_elements(tensor, first, count);
    if (!bytes)
        return first + count;
    switch (tensor->type) {
    case VKF_STORED_F64:
        return first + first_nan_64(bytes, count);
    case VKF_STORED_F32:
        return first + first_nan_32(bytes, count);
    case VKF_STORED_F16:
        return first + first_nan_16(bytes, count, 0x7c00);
    case VKF_STORED_BF16:
        return first + first_nan_16(bytes, count, 0x7f80);
    default:
        return first + count;
    }
}

bool vkf__stored_to_f32(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, float *out_values)
{
    const uint8_t *bytes = select_elements(tensor, first, count);
    if (!bytes)
        return false;
    switch (tensor->type) {
    case VKF_STORED_F64:
        for (uint64_t i = 0; i < count; i++)
            out_values[i] = (float)load_f64(bytes + 8 * i);
        return true;
    case VKF_STORED_F32:
        for (uint64_t i = 0; i < count; i++)
            out_values[i] = load_f32(bytes + 4 * i);
        return true;
    case VKF_STORED_F16:
        for (uint64_t i = 0; i < count; i++)
            out_values[i] = vkf__float_from_half(load_u16(bytes + 2 * i));
        return true;
    case VKF_STORED_BF16:
        for (uint64_t i = 0; i < count; i++)
            out_values[i] = vkf__float_from_bfloat(load_u16(bytes + 2 * i));
        return true;
    default:
        return false;
    }
}

// Elements of every type but `same`, whose bits stay as they are, pass through a double, which holds all of them exactly.
static bool to_16_bits(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, vkf__stored_type same,
                       uint16_t (*from_double)(double value), uint16_t *out_bits)
{
    const uint8_t *bytes = select_elements(tensor, first, count);
    if (!bytes)
        return false;
    switch (tensor->type) {
    case VKF_STORED_F64:
        for (uint64_t i = 0; i < count; i++)
            out_bits[i] = from_double(load_f64(bytes + 8 * i));
        return true;
    case VKF_STORED_F32:
        for (uint64_t i = 0; i < count; i++)
            out_bits[i] = from_double((double)load_f32(bytes + 4 * i));
        return true;
    case VKF_STORED_F16:
    case VKF_STORED_BF16:
        for (uint64_t i = 0; i < count; i++) {
            uint16_t bits = load_u16(bytes + 2 * i);
            bool half = tensor->type == VKF_STORED_F16;
            out_bits[i] = tensor->type == same
                              ? bits
                              : from_double((double)(half ? vkf__float_from_half(bits) : vkf__float_from_bfloat(bits)));
        }
        return true;
    default:
        return false;
    }
}

bool vkf__stored_to_f16(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, uint16_t *out_halves)
{
    return to_16_bits(tensor, first, count, VKF_STORED_F16, vkf__half_from_double, out_halves);
}

bool vkf__stored_to_bf16(const vkf__stored_tensor *tensor, uint64_t first, uint64_t count, uint16_t *out_bfloats)
{
    return to_16_bits(tensor, first, count, VKF_STORED_BF16, vkf__bfloat_from_double, out_bfloats);
}

// Elements of operands in host memory.
#include "op/execution.h"

#include <math.h>
#include <string.h>

#include "base/blocks.h"
#include "base/elements.h"
#include "base/half.h"

// Elements of a type that is not in blocks have 1 << so many bytes: what vkf_dtype_size() says, for every element that
// is read, without a division.
static uint32_t size_shift(vkf_dtype dtype)
{
    const bool byte = dtype == VKF_DTYPE_BOOL || dtype == VKF_DTYPE_I8 || dtype == VKF_DTYPE_U8;
    return dtype == VKF_DTYPE_F32 || dtype == VKF_DTYPE_I32 ? 2 : byte ? 0 : 1;
}

static uint8_t *element(const vkf__execution *e, uint32_t binding, uint64_t index, uint32_t shift)
{
    const vkf__host_operand *operand = &e->operands[binding - 1];
    return operand->bytes && index < operand->size_bytes >> shift ? operand->bytes + (index << shift) : NULL;
}

double vkf__element_value(vkf_dtype dtype, const uint8_t *at)
{
    float f32;
    int32_t i32;
    uint16_t half;
    switch (dtype) {
    case VKF_DTYPE_F32:
        memcpy(&f32, at, sizeof f32);
        return (double)f32;
    case VKF_DTYPE_I32:
        memcpy(&i32, at, sizeof i32);
        return i32;
    case VKF_DTYPE_BOOL:
    case VKF_DTYPE_U8:
        return *at;
    case VKF_DTYPE_I8:
        return (int8_t)*at;
    default:
        memcpy(&half, at, sizeof half);
    }
    return (double)(dtype == VKF_DTYPE_BF16 ? vkf__float_from_bfloat(half) : vkf__float_from_half(half));
}

void vkf__element_set(vkf_dtype dtype, uint8_t *at, double value)
{
    const float f32 = (float)value;
    if (dtype == VKF_DTYPE_F32) {
        memcpy(at, &f32, sizeof f32);
    } else if (dtype == VKF_DTYPE_I32) {
        const int32_t i32 = (int32_t)value;
        memcpy(at, &i32, sizeof i32);
    } else if (dtype == VKF_DTYPE_BOOL) {
        *at = value != 0;
    } else if (dtype == VKF_DTYPE_I8 || dtype == VKF_DTYPE_U8) {
        *at = (uint8_t)(int32_t)value;
    } else {
        const uint16_t half = dtype == VKF_DTYPE_BF16 ? vkf__bfloat_from_float(f32) : vkf__half_from_float(f32);
        memcpy(at, &half, sizeof half);
    }
}

double vkf__value_at(vkf_dtype dtype, const uint8_t *bytes, uint64_t index)
{
    if (dtype != VKF_DTYPE_Q8)
        return vkf__element_value(dtype, bytes + (index << size_shift(dtype)));
    const uint8_t *block = bytes + index / VKF_BLOCK * VKF_Q8_BLOCK_BYTES;
    return vkf__element_value(VKF_DTYPE_F16, block) * (int8_t)block[VKF_BLOCK_HEAD_BYTES + index % VKF_BLOCK];
}

double vkf__load(const vkf__execution *e, uint32_t binding, uint64_t index)
{
    const vkf__host_operand *operand = &e->operands[binding - 1];
    const vkf_dtype dtype = operand->dtype;
    if (dtype == VKF_DTYPE_Q8)
        return operand->bytes && index < vkf__elements_in(dtype, operand->size_bytes)
                   ? vkf__value_at(dtype, operand->bytes, index)
                   : NAN;
    const uint8_t *at = element(e, binding, index, size_shift(dtype));
    return at ? vkf__element_value(dtype, at) : NAN;
}

uint32_t vkf__load_word(const vkf__execution *e, uint32_t binding, uint64_t index)
{
    uint32_t word = 0;
    const uint8_t *at = element(e, binding, index, size_shift(VKF_DTYPE_I32));
    if (at)
        memcpy(&word, at, sizeof word);
    return word;
}

void vkf__store(const vkf__execution *e, uint32_t binding, uint64_t index, double value)
{
    const vkf_dtype dtype = e->operands[binding - 1].dtype;
    uint8_t *at = element(e, binding, index, size_shift(dtype));
    if (at)
        vkf__element_set(dtype, at, value);
}

void vkf__store_word(const vkf__execution *e, uint32_t binding, uint64_t index, uint32_t word)
{
    uint8_t *at = element(e, binding, index, size_shift(VKF_DTYPE_I32));
    if (at)
        memcpy(at, &word, sizeof word);
}

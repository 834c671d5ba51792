// Elements of operands in host memory.
#include "op/execution.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

static uint8_t *element(const vkf__execution *e, uint32_t binding, uint64_t index, uint64_t size)
{
    const vkf__host_operand *operand = &e->operands[binding - 1];
    return operand->bytes && index < operand->size_bytes / size ? operand->bytes + index * size : NULL;
}

double vkf__load(const vkf__execution *e, uint32_t binding, uint64_t index)
{
    const vkf_dtype dtype = e->operands[binding - 1].dtype;
    const uint8_t *at = element(e, binding, index, vkf_dtype_size(dtype));
    return at ? vkf__element_value(dtype, at) : NAN;
}

uint32_t vkf__load_word(const vkf__execution *e, uint32_t binding, uint64_t index)
{
    uint32_t word = 0;
    const uint8_t *at = element(e, binding, index, sizeof word);
    if (at)
        memcpy(&word, at, sizeof word);
    return word;
}

void vkf__store(const vkf__execution *e, uint32_t binding, uint64_t index, double value)
{
    const vkf_dtype dtype = e->operands[binding - 1].dtype;
    uint8_t *at = element(e, binding, index, vkf_dtype_size(dtype));
    if (at)
        vkf__element_set(dtype, at, value);
}

void vkf__store_word(const vkf__execution *e, uint32_t binding, uint64_t index, uint32_t word)
{
    uint8_t *at = element(e, binding, index, sizeof word);
    if (at)
        memcpy(at, &word, sizeof word);
}

double vkf__element_value(vkf_dtype dtype, const uint8_t *at)
{
    union {
        float f32;
        int32_t i32;
        uint16_t half;
        uint8_t byte;
    } value;
    memcpy(&value, at, vkf_dtype_size(dtype));
    return dtype == VKF_DTYPE_F32    ? (double)value.f32
           : dtype == VKF_DTYPE_BOOL ? (double)value.byte
           : dtype == VKF_DTYPE_I32  ? (double)value.i32
           : dtype == VKF_DTYPE_BF16 ? (double)vkf__float_from_bfloat(value.half)
                                     : (double)vkf__float_from_half(value.half);
}

void vkf__element_set(vkf_dtype dtype, uint8_t *at, double value)
{
    const float f32 = (float)value;
    const uint8_t byte = value != 0;
    const int32_t i32 = dtype == VKF_DTYPE_I32 ? (int32_t)value : 0;
    const uint16_t half = dtype == VKF_DTYPE_BF16 ? vkf__bfloat_from_float(f32) : vkf__half_from_float(f32);
    const void *stored = dtype == VKF_DTYPE_F32    ? (const void *)&f32
                         : dtype == VKF_DTYPE_I32  ? (const void *)&i32
                         : dtype == VKF_DTYPE_BOOL ? (const void *)&byte
                                                   : (const void *)&half;
    memcpy(at, stored, vkf_dtype_size(dtype));
}

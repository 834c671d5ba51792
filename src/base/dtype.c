// Element types on the host: their sizes, names and conversions.
#include <vkformer/tensor.h>

#include "base/blocks.h"
#include "base/half.h"

typedef struct dtype_row {
    const char *name;
    uint32_t block_elements;
    size_t block_bytes;
} dtype_row;

static const dtype_row dtype_rows[VKF_DTYPE_COUNT] = {
    [VKF_DTYPE_F32] = {"f32", 1, 4},
    [VKF_DTYPE_F16] = {"f16", 1, 2},
    [VKF_DTYPE_I32] = {"i32", 1, 4},
    [VKF_DTYPE_BOOL] = {"bool", 1, 1},
    [VKF_DTYPE_BF16] = {"bf16", 1, 2},
    [VKF_DTYPE_Q8] = {"q8", VKF_BLOCK, VKF_Q8_BLOCK_BYTES},
    [VKF_DTYPE_Q4] = {"q4", VKF_BLOCK, VKF_Q4_BLOCK_BYTES},
    [VKF_DTYPE_I8] = {"i8", 1, 1},
    [VKF_DTYPE_U8] = {"u8", 1, 1},
};

// The enumeration's own type may be signed; a negative value is no dtype either.
static bool is_dtype(vkf_dtype dtype)
{
    return (unsigned)dtype < (unsigned)VKF_DTYPE_COUNT;
}

size_t vkf_dtype_size(vkf_dtype dtype)
{
    return vkf_dtype_block_elements(dtype) == 1 ? dtype_rows[dtype].block_bytes : 0;
}

uint32_t vkf_dtype_block_elements(vkf_dtype dtype)
{
    return is_dtype(dtype) ? dtype_rows[dtype].block_elements : 0;
}

size_t vkf_dtype_block_bytes(vkf_dtype dtype)
{
    return is_dtype(dtype) ? dtype_rows[dtype].block_bytes : 0;
}

const char *vkf_dtype_name(vkf_dtype dtype)
{
    return is_dtype(dtype) ? dtype_rows[dtype].name : "unknown";
}

void vkf_f32_to_f16(const float *values, uint16_t *out_halves, size_t count)
{
    for (size_t i = 0; values && out_halves && i < count; i++)
        out_halves[i] = vkf__half_from_float(values[i]);
}

void vkf_f16_to_f32(const uint16_t *halves, float *out_values, size_t count)
{
    for (size_t i = 0; halves && out_values && i < count; i++)
        out_values[i] = vkf__float_from_half(halves[i]);
}

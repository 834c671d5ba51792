// Conversions between bytes and elements of a type, whether it is stored element by element or in blocks.
#ifndef VKF_BASE_ELEMENTS_H
#define VKF_BASE_ELEMENTS_H

#include <vkformer/tensor.h>

// For a type in blocks, `elements` is a multiple of the block's. False when the bytes overflow.
static inline bool vkf__bytes_of(vkf_dtype dtype, uint64_t elements, uint64_t *out_bytes)
{
    uint64_t block = vkf_dtype_block_bytes(dtype), blocks = elements / vkf_dtype_block_elements(dtype);
    if (blocks > UINT64_MAX / block)
        return false;
    *out_bytes = blocks * block;
    return true;
}

static inline uint64_t vkf__elements_in(vkf_dtype dtype, uint64_t bytes)
{
    return bytes / vkf_dtype_block_bytes(dtype) * vkf_dtype_block_elements(dtype);
}

static inline bool vkf__is_blocks(vkf_dtype dtype)
{
    return vkf_dtype_block_elements(dtype) > 1;
}

// Keys or values, whose rows of blocks lie one behind the other.
static inline bool vkf__is_block_rows(const vkf_tensor *tensor)
{
    return tensor->dtype == VKF_DTYPE_Q8 && tensor->layout == VKF_LAYOUT_ROWS && tensor->rank == 4;
}

// Bytes of the unit in which shaders count an operand's offset: an element, or a word of blocks.
static inline uint64_t vkf__unit_bytes(vkf_dtype dtype)
{
    return vkf__is_blocks(dtype) ? 4 : vkf_dtype_size(dtype);
}

#endif

// Helpers with which the rows of operators state accounts and extents.
#include "op/op_info.h"

double vkf__stored_bytes(double elements, vkf_dtype dtype)
{
    return elements * (double)vkf_dtype_block_bytes(dtype) / (double)vkf_dtype_block_elements(dtype);
}

vkf__account vkf__account_elementwise(double elements, double flops_each, vkf_dtype from, vkf_dtype to)
{
    return (vkf__account){elements * flops_each, vkf__stored_bytes(elements, from), vkf__stored_bytes(elements, to)};
}

vkf__account vkf__account_choice(const vkf__kernel *kernel, uint32_t rows, uint32_t cols, double chosen_bytes)
{
    const double elements = (double)rows * cols;
    return (vkf__account){elements, vkf__stored_bytes(elements, kernel->types[0]), rows * chosen_bytes};
}

vkf__extent vkf__extent_rows(uint32_t binding, vkf_dtype dtype, uint32_t rows, uint32_t cols, uint64_t row)
{
    return (vkf__extent){binding - 1, dtype, 0, {1, 1, rows, cols}, {0, 0, row, 1}};
}

vkf__extent vkf__extent_flat(uint32_t binding, vkf_dtype dtype, uint32_t count)
{
    return vkf__extent_rows(binding, dtype, 1, count, count);
}

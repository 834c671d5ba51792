// Joins the families of kernels to one registry with an index.
#include "kernel/registry.h"

#include <assert.h>
#include <string.h>

#include "kernel/registry_families.h"

#define CHECK_VIEW(view) _Static_assert(sizeof(view) == sizeof(vkf__tile), #view " does not fill the union")
CHECK_VIEW(vkf__gemm_tile);
CHECK_VIEW(vkf__gemm_coopmat_tile);
CHECK_VIEW(vkf__attention_tile);
CHECK_VIEW(vkf__attention_tiled_tile);
CHECK_VIEW(vkf__attention_coopmat_tile);
CHECK_VIEW(vkf__attention_grad_tile);

// Variants are listed in this order, and of those on the same step of a ladder the earlier row is taken. The families
// for software rasterisers stand apart from those for GPUs.
static const vkf__family *const families[] = {
    &vkf__gemm_family,
    &vkf__gemm_matrix_family,
    &vkf__gemv_family,
    &vkf__gemm_blocks_family,
    &vkf__software_gemm_family,
    &vkf__attention_family,
    &vkf__attention_reduce_family,
    &vkf__attention_grad_family,
    &vkf__software_attention_family,
    &vkf__rows_family,
    &vkf__grad_rows_family,
    &vkf__flat_family,
    &vkf__train_family,
    &vkf__grad_flat_family,
    &vkf__roof_family,
};
#define FAMILY_COUNT (sizeof families / sizeof families[0])

uint32_t vkf__kernel_count(void)
{
    uint32_t count = 0;
    for (size_t i = 0; i < FAMILY_COUNT; i++)
        count += families[i]->count;
    return count;
}

const vkf__kernel *vkf__kernel_at(uint32_t index)
{
    size_t i = 0;
    for (; index >= families[i]->count; i++) {
        index -= families[i]->count;
        assert(i + 1 < FAMILY_COUNT);
    }
    return &families[i]->rows[index];
}

const vkf__kernel *vkf__kernel_next(vkf__kernel_walk *walk)
{
    for (; walk->family < FAMILY_COUNT; walk->family++, walk->row = 0) {
        if (walk->row < families[walk->family]->count)
            return &families[walk->family]->rows[walk->row++];
    }
    return NULL;
}

// Compares addresses as numbers, because pointers into different arrays may not be compared.
static bool has(const vkf__family *family, const vkf__kernel *kernel)
{
    // For a kernel in front of the rows the difference wraps around and is too large.
    return (uintptr_t)kernel - (uintptr_t)family->rows < family->count * sizeof *kernel;
}

uint32_t vkf__kernel_index(const vkf__kernel *kernel)
{
    uint32_t first = 0;
    size_t i = 0;
    for (; !has(families[i], kernel); i++) {
        first += families[i]->count;
        assert(i + 1 < FAMILY_COUNT);
    }
    return first + (uint32_t)(kernel - families[i]->rows);
}

bool vkf__kernel_is_for(const vkf__kernel *kernel, vkf__op op, const vkf_dtype *types)
{
    return kernel->op == op && memcmp(kernel->types, types, kernel->type_count * sizeof types[0]) == 0;
}

const char *vkf__op_name(vkf__op op)
{
#define NAME_OF(NAME, name) #name,
    static const char *const names[] = {VKF_OPS(NAME_OF)};
#undef NAME_OF
    return op < VKF_OP_COUNT ? names[op] : "unknown";
}

// Derives a device's traits from its caps.
#include "vk/traits.h"

#include "vk/caps.h"

// Memory is unified on processors and integrated devices that have a device-local, host-visible, coherent memory type,
// and wherever every device-local heap has such a type.
static bool has_unified_memory(const vkf__caps *caps)
{
    const VkMemoryPropertyFlags mapped = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t mapped_heaps = 0; // a bit per heap
    uint32_t local_heaps = 0;
    for (uint32_t i = 0; i < caps->memory.memoryTypeCount; i++)
        if ((caps->memory.memoryTypes[i].propertyFlags & mapped) == mapped)
            mapped_heaps |= 1U << caps->memory.memoryTypes[i].heapIndex;
    for (uint32_t i = 0; i < caps->memory.memoryHeapCount; i++)
        if (caps->memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
            local_heaps |= 1U << i;
    if (mapped_heaps == 0 || !caps->mapped_device_memory)
        return false;
    if (caps->type == VKF_DEVICE_TYPE_CPU || caps->type == VKF_DEVICE_TYPE_INTEGRATED)
        return true;
    return (local_heaps & ~mapped_heaps) == 0;
}

// Where nobody tells: in the order of magnitude of what is sold. Kinds that are not listed are mostly phones.
static uint32_t usual_cores(vkf_device_type type)
{
    return type == VKF_DEVICE_TYPE_DISCRETE ? 64 : type == VKF_DEVICE_TYPE_INTEGRATED ? 16 : 8;
}

// AMD's devices since RDNA have units that work on 32 invocations, while their drivers report subgroups of 64, which
// take two passes. Matrices of 32 invocations are what its own libraries and llama.cpp use.
static uint32_t matrix_subgroup_size(const vkf__caps *caps)
{
    const uint32_t amd = 0x1002;
    const bool narrow = caps->vendor_id == amd && caps->subgroup_size_control && caps->min_subgroup_size == 32;
    return narrow ? caps->min_subgroup_size : 0;
}

// Processors report integer dot products as accelerated, but gain nothing from them.
static bool has_integer_dot_units(const vkf__caps *caps)
{
    return caps->integer_dot && caps->integer_dot_accelerated && caps->type != VKF_DEVICE_TYPE_CPU;
}

// Intel's drivers feed matrices so badly that llama.cpp leaves them alone (its pull request 24404: a quarter of the
// cases slower than without, some by far), while dot products reach twice the rate of halves.
static bool dots_outrun_matrices(const vkf__caps *caps)
{
    const uint32_t intel = 0x8086;
    return caps->vendor_id == intel && has_integer_dot_units(caps);
}

vkf__traits vkf__traits_of(const vkf__caps *caps)
{
    const bool processor = caps->type == VKF_DEVICE_TYPE_CPU;
    // Drivers for processors report nothing about their compilers. Those that offer cooperative matrices are recent:
    // they fold, and compile in time. A mask on matrices makes a driver look older than it is.
    const bool recent = caps->matrix.cooperative_matrix;
    return (vkf__traits){
        .processor = processor,
        .unified_memory = has_unified_memory(caps),
        .integer_dot_units = has_integer_dot_units(caps),
        .dots_outrun_matrices = dots_outrun_matrices(caps),
        .cores = caps->shader_cores > 0 ? caps->shader_cores : usual_cores(caps->type),
        .cores_are_known = caps->shader_cores > 0,
        .prefers_halves =
            !processor && caps->storage_16bit && (caps->matrix.cooperative_matrix || caps->shader_float16),
        .rows_by_class = !processor,
        .matrix_subgroup_size = matrix_subgroup_size(caps),
        .folds_uniform_loads = processor && recent,
        .compiles_unrolled_slowly = processor && !recent,
    };
}

// Derives a device's traits from its caps.
#include "vk/traits.h"

#include <string.h>

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

static bool counts_in_mapped_memory(const vkf__caps *caps)
{
    const VkMemoryPropertyFlags wanted = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                         VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    for (uint32_t i = 0; i < caps->memory.memoryTypeCount; i++) {
        if ((caps->memory.memoryTypes[i].propertyFlags & wanted) == wanted)
            return true;
    }
    return false;
}

// Where nobody tells: in the order of magnitude of what is sold. Kinds that are not listed are mostly phones.
static uint32_t usual_cores(vkf_device_type type)
{
    return type == VKF_DEVICE_TYPE_DISCRETE ? 64 : type == VKF_DEVICE_TYPE_INTEGRATED ? 16 : 8;
}

// Bandwidth times latency, for each core, of what is sold with memory of its own: 5 to 8 KiB for a GeForce or Radeon,
// 16 for an Arc, 27 for an H200. Others share a processor's memory and need 4 to 8. One workgroup of 64 in each core
// has most of that, and no more is asked for, because old ones among them have few registers.
static uint32_t core_bytes_in_flight(vkf_device_type type)
{
    return type == VKF_DEVICE_TYPE_CPU ? 0 : type == VKF_DEVICE_TYPE_DISCRETE ? 24 * 1024 : 4 * 1024;
}

enum { AMD = 0x1002, APPLE = 0x106b, INTEL = 0x8086, NVIDIA = 0x10de, ARM = 0x13b5, QUALCOMM = 0x5143 };
// VK_DRIVER_ID_MESA_HONEYKRISP, which the headers of Vulkan 1.3.239 lack; as the vendor it names Mesa.
#define HONEYKRISP 26u

// AMD's devices since RDNA have units that work on 32 invocations, while their drivers report subgroups of 64, which
// take two passes.
static bool is_rdna(const vkf__caps *caps)
{
    return caps->vendor_id == AMD && caps->subgroup_size_control && caps->min_subgroup_size == 32;
}

// Matrices of 32 invocations are what AMD's own libraries and llama.cpp use.
static uint32_t matrix_subgroup_size(const vkf__caps *caps)
{
    return is_rdna(caps) ? caps->min_subgroup_size : 0;
}

typedef struct row_dot_depths {
    uint32_t q8, q4;
} row_dot_depths;

// As llama.cpp measured them, pull requests 14903 and 16900; of Intel's driver for Windows issue 17628.
static row_dot_depths row_depths(const vkf__caps *caps)
{
    const uint32_t never = UINT32_MAX;
    switch (caps->vendor_id) {
    case NVIDIA:
        return (row_dot_depths){never, 4097};
    case AMD:
        return (row_dot_depths){is_rdna(caps) ? never : 2048, 2048};
    case INTEL:
        return (row_dot_depths){caps->driver_id == VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS ? never : 2048, never};
    default:
        return (row_dot_depths){0, 0};
    }
}

// Processors report integer dot products as accelerated, but gain nothing from them.
static bool has_integer_dot_units(const vkf__caps *caps)
{
    return caps->integer_dot && caps->integer_dot_accelerated && caps->type != VKF_DEVICE_TYPE_CPU;
}

// Intel's drivers feed matrices so badly that llama.cpp leaves them alone (its pull request 24404: a quarter of the
// cases slower than without, some by far), while dot products reach twice the rate of halves. On AMD's devices matrices
// of halves have no higher rate than dot products, and have to be fed from shared memory.
static bool dots_outrun_matrices(const vkf__caps *caps)
{
    return (caps->vendor_id == INTEL || caps->vendor_id == AMD) && has_integer_dot_units(caps);
}

// AMD's devices since Vega, Adreno, Mali and NVIDIA's Volta and Turing multiply two halves in the time of one float, as
// their makers say. NVIDIA's later ones do not, but products of floats wait for shared memory there, and halves are
// half the bytes; where halves are slow, before Volta, its drivers do not report them. Apple's rates are the same for
// both, and nothing is known of others.
static bool halves_outrun_floats(const vkf__caps *caps)
{
    const uint32_t vendor = caps->vendor_id;
    return caps->shader_float16 && caps->type != VKF_DEVICE_TYPE_CPU &&
           (vendor == AMD || vendor == QUALCOMM || vendor == ARM || vendor == NVIDIA);
}

// Mali's invocations have up to 64, and leave room for half as many others beyond 32 (Arm, The Valhall shader core).
// Apple's have up to 128. On Adreno before 650, which do not store 16 bits, the same loops take more than on the later
// ones (docs/vendors.md).
static uint32_t registers(const vkf__caps *caps)
{
    if (caps->driver_id == HONEYKRISP)
        return 128;
    switch (caps->vendor_id) {
    case ARM:
        return 64;
    case QUALCOMM:
        return caps->storage_16bit ? 256 : 96;
    case APPLE:
        return 128;
    default:
        return 256;
    }
}

// NVIDIA halves the rate of sums in f32 in what it sells as GeForce (white papers of Turing, GA102, Ada and Blackwell).
// The same chips have the full rate in cards of other names, so that no device's id tells.
static bool matrices_prefer_half_sums(const vkf__caps *caps)
{
    return caps->vendor_id == NVIDIA && strstr(caps->name, "GeForce") != NULL;
}

vkf__traits vkf__traits_of(const vkf__caps *caps)
{
    const bool processor = caps->type == VKF_DEVICE_TYPE_CPU;
    // Drivers for processors report nothing about their compilers. Those that offer cooperative matrices are recent:
    // they fold, and compile in time. A mask on matrices makes a driver look older than it is.
    const bool recent = caps->matrix.cooperative_matrix;
    const row_dot_depths depths = row_depths(caps);
    return (vkf__traits){
        .processor = processor,
        .unified_memory = has_unified_memory(caps),
        .integer_dot_units = has_integer_dot_units(caps),
        .row_dot_depth_q8 = depths.q8,
        .row_dot_depth_q4 = depths.q4,
        .dots_outrun_matrices = dots_outrun_matrices(caps),
        .halves_outrun_floats = halves_outrun_floats(caps),
        .registers = registers(caps),
        .matrices_prefer_half_sums = matrices_prefer_half_sums(caps),
        .cores = caps->shader_cores > 0 ? caps->shader_cores : usual_cores(caps->type),
        .cores_are_known = caps->shader_cores > 0,
        .core_bytes_in_flight = core_bytes_in_flight(caps->type),
        .spills_to_cache = processor,
        .prefers_large_workgroups = processor,
        .prefers_halves =
            !processor && caps->storage_16bit && (caps->matrix.cooperative_matrix || caps->shader_float16),
        .rows_by_class = !processor,
        .runs_ahead = !processor,
        .joins_layers = !processor,
        .spins = !processor,
        .clock_follows_load = !processor,
        .counts_in_mapped_memory = counts_in_mapped_memory(caps),
        .matrix_subgroup_size = matrix_subgroup_size(caps),
        .folds_uniform_loads = processor && recent,
        .compiles_unrolled_slowly = processor && !recent,
    };
}

#include "vk/plan.h"

#include "vk/calibration.h"

// The least that the kernels can work with.
#define FLOOR_INVOCATIONS 64
#define FLOOR_STORAGE_BUFFERS 4
#define FLOOR_SHARED_MEMORY_BYTES 16384
#define FLOOR_PUSH_CONSTANT_BYTES 32

// Tensors in one buffer stand at multiples of at least this, so that a layout does not differ between most devices.
#define MIN_BUFFER_ALIGNMENT 256

#define HOST_COHERENT (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

// Memory that needs features of its own (protected, device-coherent) or cannot back a buffer (lazily allocated).
#define FORBIDDEN_MEMORY                                                                       \
    (VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT | VK_MEMORY_PROPERTY_PROTECTED_BIT |              \
     VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD | \
     VK_MEMORY_PROPERTY_RDMA_CAPABLE_BIT_NV)

typedef struct memory_wish {
    VkMemoryPropertyFlags required;
    VkMemoryPropertyFlags preferred;
    VkMemoryPropertyFlags avoided;
} memory_wish;

static uint32_t bit_count(VkFlags flags)
{
    uint32_t count = 0;
    for (; flags; flags &= flags - 1)
        count++;
    return count;
}

// The first type with the fewest wishes unmet: drivers list the faster of otherwise equal types first. UINT32_MAX when
// no type has what is required.
static uint32_t pick_memory_type(const VkPhysicalDeviceMemoryProperties *memory, memory_wish wish)
{
    uint32_t best = UINT32_MAX;
    uint32_t best_unmet = UINT32_MAX;
    for (uint32_t i = 0; i < memory->memoryTypeCount; i++) {
        VkMemoryPropertyFlags flags = memory->memoryTypes[i].propertyFlags;
        uint32_t unmet = bit_count(wish.preferred & ~flags) + bit_count(wish.avoided & flags);
        if ((flags & FORBIDDEN_MEMORY) || (flags & wish.required) != wish.required || unmet >= best_unmet)
            continue;
        best = i;
        best_unmet = unmet;
    }
    return best;
}

static vkf_status plan_memory(const vkf__host *host, const vkf__caps *caps, vkf__device_plan *plan)
{
    static const memory_wish wishes[VKF_MEMORY_CLASS_COUNT] = {
        // Host-visible device memory is a small window on many discrete devices: it is left to CONTROL.
        [VKF_MEMORY_DEVICE] = {.required = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                               .avoided = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT},
        [VKF_MEMORY_CONTROL] = {.required = HOST_COHERENT, .preferred = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT},
        [VKF_MEMORY_STAGING] = {.required = HOST_COHERENT,
                                .preferred = VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                                .avoided = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT},
    };
    static const memory_wish unified = {.required = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | HOST_COHERENT};

    plan->unified_memory = vkf__caps_unified_memory(caps);
    for (int i = 0; i < VKF_MEMORY_CLASS_COUNT; i++) {
        bool mapped_device = i == VKF_MEMORY_DEVICE && plan->unified_memory;
        plan->memory_type[i] = pick_memory_type(&caps->memory, mapped_device ? unified : wishes[i]);
    }
    if (plan->memory_type[VKF_MEMORY_CONTROL] == UINT32_MAX)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "%s has no memory that is host-visible and coherent, which Vulkan requires: update the driver",
                         caps->name);
    if (plan->memory_type[VKF_MEMORY_DEVICE] == UINT32_MAX)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "%s has no device-local memory, which Vulkan requires: update the driver", caps->name);
    return VKF_OK;
}

static vkf_status check_floor(const vkf__host *host, const vkf__caps *caps)
{
    const struct {
        const char *name;
        uint32_t value;
        uint32_t floor;
    } rows[] = {
        {"maxComputeWorkGroupInvocations", caps->max_workgroup_invocations, FLOOR_INVOCATIONS},
        {"maxComputeWorkGroupSize[0]", caps->max_workgroup_size_x, FLOOR_INVOCATIONS},
        {"maxPerStageDescriptorStorageBuffers", caps->max_storage_buffers, FLOOR_STORAGE_BUFFERS},
        {"maxComputeSharedMemorySize", caps->max_shared_memory_bytes, FLOOR_SHARED_MEMORY_BYTES},
        {"maxPushConstantsSize", caps->max_push_constant_bytes, FLOOR_PUSH_CONSTANT_BYTES},
    };
    if (caps->api_version < VK_API_VERSION_1_1)
        return vkf__fail(host, VKF_ERROR_NO_DEVICE,
                         "%s offers Vulkan %u.%u, at least 1.1 is needed: update the driver or choose another device",
                         caps->name, VK_API_VERSION_MAJOR(caps->api_version), VK_API_VERSION_MINOR(caps->api_version));
    if (caps->queue_family_index == UINT32_MAX)
        return vkf__fail(host, VKF_ERROR_NO_DEVICE, "%s has no compute queue: choose another device", caps->name);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value < rows[i].floor)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                             "%s has %s = %u, at least %u is needed: choose another device, or mask less", caps->name,
                             rows[i].name, rows[i].value, rows[i].floor);
    return VKF_OK;
}

static void add_extension(vkf__device_plan *plan, bool wanted, const char *name)
{
    if (wanted)
        plan->extensions[plan->extension_count++] = name;
}

// What the kernels on cooperative matrices need. Nothing else has a use for it.
static void plan_matrix(vkf__device_plan *plan)
{
    const vkf__caps *caps = &plan->caps;
    vkf__matrix_features features;
    const void *next = NULL;
    const char *names[3];
    plan->enable_matrix = caps->matrix.cooperative_matrix && caps->vulkan_memory_model && caps->shader_float16;
    if (!plan->enable_matrix)
        return;
    plan->enable_full_subgroups = caps->compute_full_subgroups;
    plan->enable_subgroup_size_control = caps->subgroup_size_control;
    plan->enable_maintenance4 = caps->maintenance4;
    uint32_t count = vkf__matrix_features_enable(&caps->matrix, &features, &next, names);
    for (uint32_t i = 0; i < count; i++)
        add_extension(plan, true, names[i]);
    add_extension(plan, caps->api_version < VK_API_VERSION_1_2, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME);
    add_extension(plan,
                  caps->api_version < VK_API_VERSION_1_3 &&
                      (plan->enable_full_subgroups || plan->enable_subgroup_size_control),
                  VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
}

// All alignments are powers of two, so that the largest is a multiple of the others.
static uint32_t buffer_alignment(const vkf__caps *caps)
{
    const uint32_t alignments[] = {caps->storage_buffer_alignment, caps->uniform_buffer_alignment,
                                   caps->texel_buffer_alignment, caps->non_coherent_atom_bytes};
    uint32_t largest = MIN_BUFFER_ALIGNMENT;
    for (size_t i = 0; i < sizeof alignments / sizeof alignments[0]; i++)
        if (alignments[i] > largest)
            largest = alignments[i];
    return largest;
}

vkf_status vkf__device_plan_make(const vkf__host *host, const vkf__caps *caps, const vkf__plan_wishes *wishes,
                                 vkf__device_plan *out_plan)
{
    vkf_status status = VKF_OK;
    vkf__device_plan plan = {
        .caps = *caps,
        .enable_storage_16bit = caps->storage_16bit,
        .enable_buffer_device_address = caps->buffer_device_address,
        .enable_float16 = caps->shader_float16,
        .enable_int64 = caps->shader_int64,
        .enable_integer_dot = caps->integer_dot,
        .enable_timestamps = wishes->timestamps && caps->timestamps,
        .enable_calibration = wishes->timestamps && caps->timestamps && caps->calibrated_timestamps,
        .enable_executable_info = wishes->executable_info && caps->pipeline_executable_info,
        .enable_statistics_queries = wishes->counters && caps->statistics_queries,
        .enable_performance_queries = wishes->counters && caps->performance_queries,
        .enable_other_types = wishes->executable_info && caps->api_version >= VK_API_VERSION_1_2,
        .buffer_alignment = buffer_alignment(caps),
    };
    VKF_TRY(check_floor(host, caps));
    VKF_TRY(plan_memory(host, caps, &plan));
    if (wishes->timestamps && !plan.enable_timestamps)
        vkf__log(host, VKF_SEVERITY_WARNING, "%s has no timestamps on its compute queue: nothing will be measured",
                 caps->name);
    if (wishes->executable_info && !plan.enable_executable_info)
        vkf__log(host, VKF_SEVERITY_WARNING, "%s tells no pipeline statistics (pipelineExecutableInfo)", caps->name);
    if (wishes->counters && !plan.enable_statistics_queries && !plan.enable_performance_queries)
        vkf__log(host, VKF_SEVERITY_WARNING, "%s counts nothing (pipelineStatisticsQuery, VK_KHR_performance_query)",
                 caps->name);
    add_extension(&plan, caps->portability_subset, "VK_KHR_portability_subset");
    add_extension(&plan, plan.enable_buffer_device_address && caps->api_version < VK_API_VERSION_1_2,
                  VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
    add_extension(&plan, plan.enable_float16 && caps->api_version < VK_API_VERSION_1_2,
                  VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
    add_extension(&plan, plan.enable_integer_dot && caps->api_version < VK_API_VERSION_1_3,
                  VK_KHR_SHADER_INTEGER_DOT_PRODUCT_EXTENSION_NAME);
    add_extension(&plan, caps->memory_budget, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    add_extension(&plan, plan.enable_executable_info, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME);
    add_extension(&plan, plan.enable_calibration,
                  caps->calibrated_khr ? VKF_KHR_CALIBRATED_TIMESTAMPS : VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME);
    add_extension(&plan, plan.enable_performance_queries, VK_KHR_PERFORMANCE_QUERY_EXTENSION_NAME);
    plan_matrix(&plan);
    *out_plan = plan;
fail:
    return status;
}

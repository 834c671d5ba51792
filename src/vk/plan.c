// Makes a plan: memory types, features and extensions, after checking that the device meets the minimum.
#include "vk/plan.h"

#include <assert.h>

#include <vkformer/vulkan.h>

#include "vk/calibration.h"

// The minimum that the kernels can work with.
#define FLOOR_INVOCATIONS 64
#define FLOOR_STORAGE_BUFFERS 4
#define FLOOR_SHARED_MEMORY_BYTES 16384
#define FLOOR_PUSH_CONSTANT_BYTES 32

// The least alignment of tensors in one buffer, chosen so that the layout is the same on most devices.
#define MIN_BUFFER_ALIGNMENT 256

#define HOST_COHERENT (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

// Memory that needs features of its own (protected, device-coherent) or that cannot back a buffer (lazily allocated).
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

// Picks the type with the fewest unmet wishes, and the first of equals, because drivers list the faster of otherwise
// equal types first. UINT32_MAX when no type has what is required.
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
        // Host-visible device memory is a small window on many discrete devices, so it is left to CONTROL.
        [VKF_MEMORY_DEVICE] = {.required = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                               .avoided = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT},
        [VKF_MEMORY_CONTROL] = {.required = HOST_COHERENT, .preferred = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT},
        [VKF_MEMORY_STAGING] = {.required = HOST_COHERENT,
                                .preferred = VK_MEMORY_PROPERTY_HOST_CACHED_BIT,
                                .avoided = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT},
    };
    static const memory_wish unified = {.required = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | HOST_COHERENT};

    for (int i = 0; i < VKF_MEMORY_CLASS_COUNT; i++) {
        bool mapped_device = i == VKF_MEMORY_DEVICE && plan->caps.traits.unified_memory;
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

static void add_extension(vkf__device_plan *plan, const char *name)
{
    assert(plan->extension_count < sizeof plan->extensions / sizeof plan->extensions[0]);
    plan->extensions[plan->extension_count++] = name;
}

// Kernels on cooperative matrices also need the memory model and 16-bit floats.
static bool runs_matrices(const vkf__caps *caps)
{
    return caps->matrix.cooperative_matrix && caps->vulkan_memory_model && caps->shader_float16;
}

// What decodes a matrix's blocks reads them by address.
static bool decodes_matrices(const vkf__caps *caps)
{
    return runs_matrices(caps) && caps->matrix.tensor_addressing && caps->matrix.block_loads;
}

static bool is_wanted(vkf__wanted wanted, const vkf__caps *caps, const vkf__plan_wishes *wishes)
{
    switch (wanted) {
    case VKF_WANTED_ALWAYS:
        return true;
    case VKF_WANTED_FOR_TIMESTAMPS:
        return wishes->timestamps;
    case VKF_WANTED_FOR_STATISTICS:
        return wishes->executable_info;
    case VKF_WANTED_FOR_COUNTERS:
        return wishes->counters;
    case VKF_WANTED_FOR_EXTERNAL_MEMORY:
        return wishes->external_memory;
    case VKF_WANTED_FOR_PRIORITY:
        return wishes->queue_priority != VKF_QUEUE_PRIORITY_DEFAULT;
    case VKF_WANTED_FOR_ADDRESSES:
        return wishes->addresses || wishes->executable_info || caps->traits.processor || decodes_matrices(caps);
    case VKF_WANTED_FOR_OTHER_SHADERS: // from 1.2 on, all of it is in the core
        return wishes->executable_info && caps->api_version >= VK_API_VERSION_1_2;
    case VKF_WANTED_FOR_MATRICES:
        return runs_matrices(caps);
    case VKF_WANTED_FOR_FLEXIBLE_MATRICES:
        return runs_matrices(caps) && caps->matrix.flexible_dimensions;
    }
    return false;
}

// The other name of calibrated timestamps and of priorities where the driver offers that alone, and else the feature's
// own extension.
static const char *extension_of(const vkf__feature *feature, const vkf__caps *caps)
{
    if (feature->caps == offsetof(vkf__caps, global_priority) && caps->priority_ext)
        return VK_EXT_GLOBAL_PRIORITY_EXTENSION_NAME;
    bool calibrated = feature->caps == offsetof(vkf__caps, calibrated_timestamps);
    return calibrated && caps->calibrated_khr ? VKF_KHR_CALIBRATED_TIMESTAMPS : feature->extension;
}

// Puts what is there and wanted into plan->enabled, and what has to be enabled for it into the rest of the plan.
static void plan_features(vkf__device_plan *plan, const vkf__plan_wishes *wishes)
{
    const vkf__caps *caps = &plan->caps;
    vkf__features_init(&plan->features);
    if (caps->portability_subset)
        add_extension(plan, "VK_KHR_portability_subset");
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        const vkf__feature *feature = &vkf__feature_table[i];
        if (!vkf__feature_in_caps(feature, caps) || !vkf__feature_has_needs(feature, caps) ||
            !is_wanted(feature->wanted, caps, wishes))
            continue;
        *(bool *)(void *)((char *)&plan->enabled + feature->enabled) = true;
        plan->feature_structures |= vkf__features_enable(&plan->features, feature);
        if (feature->extension)
            add_extension(plan, extension_of(feature, caps));
    }
    for (uint32_t i = 0; i < VKF_FEATURE_STRUCTURE_COUNT; i++) {
        const vkf__feature_structure *structure = &vkf__feature_structures[i];
        if ((plan->feature_structures >> i & 1) && structure->extension && caps->api_version < structure->core)
            add_extension(plan, structure->extension);
    }
}

// All alignments are powers of two, so the largest is a multiple of the others.
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

// Warns by what the device can do, whoever made it.
static void warn_of_wishes(const vkf__host *host, const vkf__caps *caps, const vkf__plan_wishes *wishes)
{
    if (wishes->timestamps && !caps->timestamps)
        vkf__log(host, VKF_SEVERITY_WARNING, "%s has no timestamps on its compute queue: nothing will be measured",
                 caps->name);
    if (wishes->executable_info && !caps->pipeline_executable_info)
        vkf__log(host, VKF_SEVERITY_WARNING, "%s reports no pipeline statistics (pipelineExecutableInfo)", caps->name);
    if (wishes->queue_priority != VKF_QUEUE_PRIORITY_DEFAULT && !caps->global_priority)
        vkf__log(host, VKF_SEVERITY_WARNING,
                 "%s has no priorities of queues (VK_KHR_global_priority): the default is taken", caps->name);
    if (wishes->counters && !caps->statistics_queries && !caps->performance_queries)
        vkf__log(host, VKF_SEVERITY_WARNING, "%s has no counters (pipelineStatisticsQuery, VK_KHR_performance_query)",
                 caps->name);
}

static vkf_status make_plan(const vkf__host *host, const vkf__caps *caps, const vkf__plan_wishes *wishes,
                            vkf__device_plan *plan)
{
    *plan = (vkf__device_plan){.caps = *caps, .buffer_alignment = buffer_alignment(caps)};
    plan->caps.traits = vkf__traits_of(caps);
    VKF_RETURN_IF_ERROR(check_floor(host, caps));
    VKF_RETURN_IF_ERROR(plan_memory(host, caps, plan));
    plan_features(plan, wishes);
    if (plan->enabled.global_priority)
        plan->queue_priority = wishes->queue_priority;
    // Kernels are chosen by caps. No buffer has an address where that would serve none: drivers have faults there (with
    // indirect dispatches MoltenVK loses the device, its issue 2696).
    plan->caps.buffer_device_address = plan->enabled.buffer_device_address;
    return VKF_OK;
}

vkf_status vkf__device_plan_make(const vkf__host *host, const vkf__caps *caps, const vkf__plan_wishes *wishes,
                                 vkf__device_plan *out_plan)
{
    vkf__device_plan plan;
    vkf_status status = make_plan(host, caps, wishes, &plan);
    if (status != VKF_OK)
        return status;
    warn_of_wishes(host, caps, wishes);
    *out_plan = plan;
    return VKF_OK;
}

vkf_status vkf__device_plan_make_external(const vkf__host *host, const vkf__caps *caps, const vkf__plan_wishes *wishes,
                                          const vkf_external_device *external, vkf__device_plan *out_plan)
{
    vkf__caps limited = *caps;
    vkf__device_plan plan;
    VKF_RETURN_IF_ERROR(vkf__caps_limit_external(host, &limited, external));
    vkf__plan_wishes enabled = *wishes;
    enabled.queue_priority = VKF_QUEUE_PRIORITY_DEFAULT; // the queue is the caller's
    enabled.external_memory = true;                      // as far as the caller has enabled it: it costs nothing
    VKF_RETURN_IF_ERROR(make_plan(host, &limited, &enabled, &plan));
    warn_of_wishes(host, caps, wishes);
    // The device exists, so that nothing is left to be enabled.
    vkf__features_init(&plan.features);
    plan.feature_structures = 0;
    plan.extension_count = 0;
    *out_plan = plan;
    return VKF_OK;
}

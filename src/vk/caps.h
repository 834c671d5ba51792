// The first step of caps -> traits -> plan -> device: what a physical device can do, as plain data that a test
// can also write.
#ifndef VKF_VK_CAPS_H
#define VKF_VK_CAPS_H

#include "vk/caps_matrix.h"
#include "vk/traits.h"

struct vkf_external_device;

// Queue families beyond this number are ignored. Devices have up to eight.
#define VKF_MAX_QUEUE_FAMILIES 32

// X(field, Vulkan's name, type)
#define VKF_CAPS_LIMITS(X)                                                   \
    X(max_workgroup_invocations, "maxComputeWorkGroupInvocations", uint32_t) \
    X(max_workgroup_size_x, "maxComputeWorkGroupSize[0]", uint32_t)          \
    X(max_workgroup_count_x, "maxComputeWorkGroupCount[0]", uint32_t)        \
    X(max_workgroup_count_y, "maxComputeWorkGroupCount[1]", uint32_t)        \
    X(max_workgroup_count_z, "maxComputeWorkGroupCount[2]", uint32_t)        \
    X(max_shared_memory_bytes, "maxComputeSharedMemorySize", uint32_t)       \
    X(max_storage_buffers, "maxPerStageDescriptorStorageBuffers", uint32_t)  \
    X(max_storage_buffer_range, "maxStorageBufferRange", uint64_t)           \
    X(max_uniform_buffer_range, "maxUniformBufferRange", uint64_t)           \
    X(max_texel_elements, "maxTexelBufferElements", uint32_t)                \
    X(max_push_constant_bytes, "maxPushConstantsSize", uint32_t)             \
    X(max_memory_allocation_count, "maxMemoryAllocationCount", uint32_t)     \
    X(max_memory_allocation_bytes, "maxMemoryAllocationSize", uint64_t)      \
    X(max_buffer_bytes, "maxBufferSize", uint64_t)                           \
    X(subgroup_size, "subgroupSize", uint32_t)

typedef struct vkf__queue_family {
    bool compute;
    bool graphics;
    uint32_t queue_count;
    uint32_t timestamp_valid_bits;
} vkf__queue_family;

typedef struct vkf__caps {
    char name[256];
    char driver_name[256];
    char driver_info[256];
    vkf_device_type type;
    uint32_t api_version; // shared by instance and device
    uint32_t driver_version;
    uint32_t driver_id;
    uint32_t vendor_id;
    uint32_t device_id;
    uint8_t device_uuid[VKF_UUID_SIZE];
    uint8_t driver_uuid[VKF_UUID_SIZE];
    uint8_t pipeline_cache_uuid[VKF_UUID_SIZE];
#define VKF_MEMBER(field, ...) bool field;
    VKF_CAPS_FEATURES(VKF_MEMBER)
#undef VKF_MEMBER
#define VKF_MEMBER(field, name, type) type field;
    VKF_CAPS_LIMITS(VKF_MEMBER)
#undef VKF_MEMBER
    // The members below are never masked. The alignments are powers of two and hold whatever the profile.
    uint32_t storage_buffer_alignment;
    uint32_t uniform_buffer_alignment;
    uint32_t texel_buffer_alignment;
    uint32_t non_coherent_atom_bytes;
    // Sizes that the subgroups of a compute shader may have. Both are the same where there is no choice.
    uint32_t min_subgroup_size;
    uint32_t max_subgroup_size;
    uint32_t least_subgroup_size; // that the driver tells, whether or not a size may be required; 0 where it does not
    uint32_t max_workgroup_subgroups; // with a required subgroup size; UINT32_MAX without subgroup_size_control
    float timestamp_period_ns;
    uint32_t timestamp_valid_bits; // of the chosen queue family
    uint32_t queue_family_index;   // compute; UINT32_MAX when there is none
    uint32_t queue_family_count;
    vkf__queue_family queue_families[VKF_MAX_QUEUE_FAMILIES];
    // What runs workgroups side by side (streaming multiprocessors, compute units, shader cores), and the subgroups
    // that one of them holds at a time; 0 where the driver does not tell.
    uint32_t shader_cores;
    uint32_t core_subgroups;
    uint32_t faults;         // a bit for each row of the table of driver faults that the device has
    bool rounds_all_widths;  // a mode of rounding 16-bit floats has to be that of 32-bit floats, too
    bool portability_subset; // VK_KHR_portability_subset, which must be enabled wherever it is offered
    bool calibrated_khr;     // calibrated_timestamps come under the KHR name alone
    bool priority_ext;       // and global_priority under the EXT name
    vkf__other_types other;
    VkPhysicalDeviceMemoryProperties memory;
    vkf__caps_matrix matrix; // masks switch its features off by their Vulkan names; all zeros below the full profile
    vkf__traits traits;      // filled in by the plan; zeros before
} vkf__caps;

// The subgroups over which kernels by cooperative matrices spread them.
static inline uint32_t vkf__matrix_subgroup_size(const vkf__caps *caps)
{
    return caps->traits.matrix_subgroup_size > 0 ? caps->traits.matrix_subgroup_size : caps->subgroup_size;
}

// Reads one physical device. For a device older than Vulkan 1.1 it reads only what Vulkan 1.0 reports, without the
// memory: the plan refuses such a device. `matrices` false: the driver is not asked for its cooperative matrices, and
// the device has none. What its driver is known to report wrongly is left out before it is asked for more about that.
// Statuses: VULKAN, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY.
VKF_MUST_CHECK vkf_status vkf__caps_read(const vkf__instance *instance, VkPhysicalDevice device, bool matrices,
                                         vkf__caps *out_caps);

// The family whose queues suit compute work best; UINT32_MAX when none can compute. Families with timestamps come
// first, and among these those without graphics: drivers give their work more time before they take it for a hang, and
// it does not hold up what is drawn. Pure.
uint32_t vkf__caps_queue_family(const vkf__queue_family *families, uint32_t count);

// Applies a profile, then single masks ("shaderFloat16", "maxComputeWorkGroupInvocations=64"). Values are only ever
// lowered. Pure. INVALID_ARGUMENT for an unknown name, a value that is not a number, a limit without a value, or a
// feature with one.
VKF_MUST_CHECK vkf_status vkf__caps_limit(const vkf__host *host, vkf__caps *caps, vkf_caps_profile profile,
                                          const char *const *masks, uint32_t mask_count);

// Whether cooperative matrices may be left after vkf__caps_limit() with the same arguments. Pure.
bool vkf__caps_keeps_matrices(vkf_caps_profile profile, const char *const *masks, uint32_t mask_count);

// Leaves of the caps what a described device has, too: features that both have, and the lesser limits. The size of
// subgroups stays the device's own. Pure.
void vkf__caps_limit_to(vkf__caps *caps, const vkf__caps *described);

// Leaves what may be used on a device that the caller made. A VkDevice does not tell what was enabled on it, so a
// feature that has to be enabled remains only where the caller vouches for it. Pure. INVALID_ARGUMENT for a queue
// family that does not exist or cannot compute.
VKF_MUST_CHECK vkf_status vkf__caps_limit_external(const vkf__host *host, vkf__caps *caps,
                                                   const struct vkf_external_device *external);

// Picks one of `count` candidates. BEST and TYPE pass over devices without Vulkan 1.1 or without a compute queue; of
// one type they take the device with the most usable kernels (`kernels` has the number of each; NULL: they are not
// known), and of equals the one with the most memory of its own. A device chosen by index, name or UUID is taken as it
// is. Pure. Statuses: NO_DEVICE (the message lists the candidates), INVALID_ARGUMENT.
VKF_MUST_CHECK vkf_status vkf__caps_choose(const vkf__host *host, const vkf__caps *candidates, const uint32_t *kernels,
                                           uint32_t count, const vkf_device_choice *choice, uint32_t *out_index);

void vkf__caps_info(const vkf__caps *caps, uint32_t index, vkf_device_info *out_info);

#endif

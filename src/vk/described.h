// A device that is described instead of found: what Vulkan would tell about it, as data. It answers the functions of an
// instance that read physical devices, so that its caps are read in the way of every other device's.
#ifndef VKF_VK_DESCRIBED_H
#define VKF_VK_DESCRIBED_H

#include "vk/caps.h"

// What a member of a structure of Vulkan's holds, and so how a file writes it.
typedef enum vkf__member_kind {
    VKF_MEMBER_BOOL = 0,
    VKF_MEMBER_U32,
    VKF_MEMBER_U64,
    VKF_MEMBER_F32,
    VKF_MEMBER_ENUM,    // the name of a value
    VKF_MEMBER_FLAGS,   // a list of names of bits
    VKF_MEMBER_VERSION, // "1.3.204", or the number that this is packed into
    VKF_MEMBER_TEXT,
} vkf__member_kind;

typedef struct vkf__described_member {
    uint16_t offset; // in vkf__described, or in the entry of a list
    uint16_t size;   // of a text with its end; else the number of values: more than 1 in an array
    uint8_t kind;    // vkf__member_kind
} vkf__described_member;

typedef struct vkf__described_properties {
    VkPhysicalDeviceProperties core;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlProperties subgroup_sizes;
    VkPhysicalDeviceMaintenance3Properties maintenance3;
    VkPhysicalDeviceMaintenance4Properties maintenance4;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDeviceShaderIntegerDotProductProperties integer_dot;
    VkPhysicalDeviceFloatControlsProperties floats;
    VkPhysicalDeviceCooperativeMatrixPropertiesKHR matrix;
    VkPhysicalDeviceCooperativeMatrix2PropertiesNV matrix2;
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV nvidia_cores;
    VkPhysicalDeviceShaderCorePropertiesAMD amd_cores;
    VkPhysicalDeviceShaderCoreProperties2AMD amd_cores2;
    VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM arm_cores;
} vkf__described_properties;

typedef struct vkf__described {
    const vkf__host *host;
    vkf__features features;
    vkf__described_properties properties;
    VkExtensionProperties *extensions;
    size_t extension_count, extension_capacity;
    VkQueueFamilyProperties families[VKF_MAX_QUEUE_FAMILIES];
    uint32_t family_count;
    VkMemoryHeap heaps[VK_MAX_MEMORY_HEAPS];
    VkMemoryType types[VK_MAX_MEMORY_TYPES];
    uint32_t heap_count, type_count;
    VkCooperativeMatrixPropertiesKHR shapes[VKF_MATRIX_MAX_SHAPES];
    VkCooperativeMatrixFlexibleDimensionsPropertiesNV flexible[VKF_MATRIX_MAX_SHAPES];
    uint32_t shape_count, flexible_count;
} vkf__described;

// What files give as lists of structures, and how many entries of each are kept.
typedef struct vkf__described_list {
    const char *name; // Vulkan's name of the structure, or of the member that is the list
    uint32_t offset;  // of the first entry in vkf__described
    uint32_t count;   // offset of the number of entries
    uint16_t entry_bytes, capacity;
    const char *names; // of the members, each with its end; an empty one ends the list
    const vkf__described_member *members;
} vkf__described_list;

// A handle that vkf_device_description is for: the caps of a device that need not be there.
struct vkf_device_description {
    vkf__host host;
    vkf__caps caps;
};

// Begins with what Vulkan requires of every device: no feature, and the least limits. `host` outlives it.
void vkf__described_init(vkf__described *described, const vkf__host *host);
void vkf__described_finish(vkf__described *described);

// The member of that name, where the library looks at it; NULL elsewhere. `structure` is Vulkan's full name.
const vkf__described_member *vkf__described_find(const char *structure, const char *name);
const vkf__described_list *vkf__described_find_list(const char *name);

// The value of an enumerator or a bit by Vulkan's name. False for a name that the library does not look at.
bool vkf__described_constant(const char *name, uint32_t *out_value);

VKF_MUST_CHECK vkf_status vkf__described_add_extension(vkf__described *described, const char *name);

// Where nothing was said of queues or memory, gives it one of each that serves for everything: the memory is device-
// local and seen by the host, and of unknown size, 0.
void vkf__described_complete(vkf__described *described);

// The function of an instance that reads a physical device, by Vulkan's name; NULL: none that is read of a description.
// The handle that it takes is a pointer to a description.
PFN_vkVoidFunction vkf__described_function(const char *name);

// Reads the caps of the device. Statuses are those of vkf__caps_read().
VKF_MUST_CHECK vkf_status vkf__described_caps(const vkf__described *described, vkf__caps *out_caps);

#endif

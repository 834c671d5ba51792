// The Vulkan loader library and the functions of an instance, found at run time and kept in tables of our own. Nothing
// here is global, and nothing links against libvulkan.
#ifndef VKF_VK_LOADER_H
#define VKF_VK_LOADER_H

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <volk.h>

#include <vkformer/context.h>

#include "base/host.h"

// X(name): required functions of an instance.
#define VKF_INSTANCE_FUNCTIONS(X)               \
    X(vkDestroyInstance)                        \
    X(vkEnumeratePhysicalDevices)               \
    X(vkEnumerateDeviceExtensionProperties)     \
    X(vkGetPhysicalDeviceProperties)            \
    X(vkGetPhysicalDeviceProperties2)           \
    X(vkGetPhysicalDeviceFeatures2)             \
    X(vkGetPhysicalDeviceMemoryProperties2)     \
    X(vkGetPhysicalDeviceQueueFamilyProperties) \
    X(vkCreateDevice)                           \
    X(vkGetDeviceProcAddr)

// X(name): functions that may be absent (extensions).
#define VKF_INSTANCE_FUNCTIONS_OPTIONAL(X) \
    X(vkCreateDebugUtilsMessengerEXT)      \
    X(vkDestroyDebugUtilsMessengerEXT)     \
    X(vkSetDebugUtilsObjectNameEXT)

typedef struct vkf__instance {
    const vkf__host *host; // outlives the instance
    void *library;         // NULL when the caller gave the loader function
    PFN_vkGetInstanceProcAddr get_proc;
    VkInstance handle;
    bool owned;           // false: it is the caller's and never destroyed here
    uint32_t api_version; // what the instance was created for: at least 1.1
    bool debug_utils;     // VK_EXT_debug_utils is enabled; never assumed for a caller's instance
    VkDebugUtilsMessengerEXT messenger;
#define VKF_MEMBER(name) PFN_##name name;
    VKF_INSTANCE_FUNCTIONS(VKF_MEMBER)
    VKF_INSTANCE_FUNCTIONS_OPTIONAL(VKF_MEMBER)
#undef VKF_MEMBER
} vkf__instance;

typedef struct vkf__instance_desc {
    vkf_get_instance_proc_addr get_instance_proc_addr; // NULL: open the system's loader
    bool validation;     // with synchronisation validation; messages arrive as VKF_SEVERITY_VALIDATION
    VkInstance external; // VK_NULL_HANDLE: create one
    uint32_t external_api_version;
} vkf__instance_desc;

// Statuses: NO_VULKAN (no loader, no driver, or one older than 1.1; the message says what to install), UNSUPPORTED
// (validation was asked for, but its layer is not installed), OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, VULKAN. On
// failure *instance is zeroed. The instance must not be moved or copied once it is initialised.
VKF_MUST_CHECK vkf_status vkf__instance_init(vkf__instance *instance, const vkf__host *host,
                                             const vkf__instance_desc *desc);
void vkf__instance_finish(vkf__instance *instance);

// Translates a VkResult and reports "where: VK_ERROR_... and what to do". VK_SUCCESS gives VKF_OK without a message.
vkf_status vkf__vulkan_status(const vkf__host *host, VkResult result, const char *where);

#endif

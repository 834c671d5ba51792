// The extensions that a physical device offers.
#ifndef VKF_VK_EXTENSION_LIST_H
#define VKF_VK_EXTENSION_LIST_H

#include "vk/loader.h"

typedef struct vkf__extension_list {
    VkExtensionProperties *items;
    uint32_t count;
} vkf__extension_list;

// The list is released with vkf__free(items). Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, VULKAN.
VKF_MUST_CHECK vkf_status vkf__extension_list_read(const vkf__instance *instance, VkPhysicalDevice device,
                                                   vkf__extension_list *out_list);

bool vkf__extension_listed(const vkf__extension_list *list, const char *name);

#endif

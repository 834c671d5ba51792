// Lists a device's extensions.
#include "vk/extension_list.h"

#include <string.h>

vkf_status vkf__extension_list_read(const vkf__instance *instance, VkPhysicalDevice device,
                                    vkf__extension_list *out_list)
{
    vkf_status status = VKF_OK;
    vkf__extension_list list = {0};
    VkResult result = VK_INCOMPLETE;

    // The list may grow between the two calls, because layers come and go.
    while (result == VK_INCOMPLETE) {
        vkf__free(instance->host, list.items);
        list.items = NULL;
        result = instance->vkEnumerateDeviceExtensionProperties(device, NULL, &list.count, NULL);
        if (result != VK_SUCCESS || list.count == 0)
            break;
        VKF_ALLOC(instance->host, list.items, list.count);
        result = instance->vkEnumerateDeviceExtensionProperties(device, NULL, &list.count, list.items);
    }
    VKF_TRY(vkf__vulkan_status(instance->host, result, "vkEnumerateDeviceExtensionProperties"));
    *out_list = list;
    return VKF_OK;
fail:
    vkf__free(instance->host, list.items);
    return status;
}

bool vkf__extension_listed(const vkf__extension_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i].extensionName, name, VK_MAX_EXTENSION_NAME_SIZE) == 0)
            return true;
    return false;
}

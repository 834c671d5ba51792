// How many cores run a device's workgroups, which Vulkan itself does not tell.
#ifndef VKF_VK_CAPS_CORES_H
#define VKF_VK_CAPS_CORES_H

#include "vk/caps.h"
#include "vk/extension_list.h"

// Fills in shader_cores and core_subgroups where an extension of NVIDIA's, AMD's or ARM's tells them; zeros elsewhere.
void vkf__caps_cores_read(const vkf__instance *instance, VkPhysicalDevice device, const vkf__extension_list *extensions,
                          vkf__caps *inout_caps);

#endif

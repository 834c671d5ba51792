// Chains of feature structures that a program made: reads what they switch on, and switches more on in them.
#ifndef VKF_VK_FEATURE_CHAIN_H
#define VKF_VK_FEATURE_CHAIN_H

#include "vk/feature_table.h"

// Everything that the chain switches on and the table knows, whether in structures of its own or in those of a version
// of Vulkan. The structures of *out_features are not chained. `chain` may be NULL.
void vkf__feature_chain_read(const void *chain, vkf__features *out_features);

// Switches on in the chain what `features` does, as far as the chain has structures for it, and nothing off. Returns
// those of `structures` that have to be chained to it besides. *out_head: whether it has a VkPhysicalDeviceFeatures2.
uint32_t vkf__feature_chain_merge(void *chain, const vkf__features *features, uint32_t structures, bool *out_head);

// Switches on in `to` what `from` does.
void vkf__core_features_merge(VkPhysicalDeviceFeatures *to, const VkPhysicalDeviceFeatures *from);

#endif

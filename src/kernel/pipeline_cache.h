// Keeps the content of the VkPipelineCache through the caller's callbacks. A header of our own reveals damaged or
// foreign content, which a driver would take on trust.
#ifndef VKF_KERNEL_PIPELINE_CACHE_H
#define VKF_KERNEL_PIPELINE_CACHE_H

#include "vk/device.h"

// A key that names device, driver and version in characters that vkf_cache_callbacks allows.
void vkf__pipeline_cache_key(const vkf__caps *caps, char *out_key, size_t capacity);

// Creates a cache from what `callbacks` load. A corrupt, truncated or foreign blob is ignored with a warning.
VKF_MUST_CHECK vkf_status vkf__pipeline_cache_create(vkf__device *device, const vkf_cache_callbacks *callbacks,
                                                     VkPipelineCache *out_cache);
// Hands the cache's content to the save callback, if there is one.
VKF_MUST_CHECK vkf_status vkf__pipeline_cache_save(vkf__device *device, const vkf_cache_callbacks *callbacks,
                                                   VkPipelineCache cache);

// Checks a blob against the device. *out_payload points into the blob. Pure.
bool vkf__pipeline_cache_valid(const vkf__caps *caps, const void *blob, size_t size_bytes, const void **out_payload,
                               size_t *out_payload_bytes, const char **out_why);

#endif

// The functions that the tests' loader wraps, by what their wrappers do.
#ifndef VKF_TESTS_FAKE_VULKAN_FUNCTIONS_H
#define VKF_TESTS_FAKE_VULKAN_FUNCTIONS_H

// Results that a function may return.
#define H 1u // VK_ERROR_OUT_OF_HOST_MEMORY
#define D 2u // VK_ERROR_OUT_OF_DEVICE_MEMORY
#define L 4u // VK_ERROR_DEVICE_LOST
#define I 8u // VK_ERROR_INITIALIZATION_FAILED

// R(name, results, first, parameters, arguments): gives a VkResult. `first`: the call is made before its failure is
// injected, as what comes after relies on its effect (a command buffer has ended, the device is idle).
#define RESULT_FUNCTIONS(R)                                                                                         \
    R(vkEnumerateInstanceVersion, H, 0, (uint32_t * a), (a))                                                        \
    R(vkEnumerateInstanceExtensionProperties, H | D, 0, (const char *a, uint32_t *b, VkExtensionProperties *c),     \
      (a, b, c))                                                                                                    \
    R(vkEnumerateInstanceLayerProperties, H | D, 0, (uint32_t * a, VkLayerProperties * b), (a, b))                  \
    R(vkEnumeratePhysicalDevices, H | D | I, 0, (VkInstance a, uint32_t * b, VkPhysicalDevice * c), (a, b, c))      \
    R(vkEnumerateDeviceExtensionProperties, H | D, 0,                                                               \
      (VkPhysicalDevice a, const char *b, uint32_t *c, VkExtensionProperties *d), (a, b, c, d))                     \
    R(vkDeviceWaitIdle, H | D | L, 1, (VkDevice a), (a))                                                            \
    R(vkQueueSubmit, H | D | L, 0, (VkQueue a, uint32_t b, const VkSubmitInfo *c, VkFence d), (a, b, c, d))         \
    R(vkQueueWaitIdle, H | D | L, 1, (VkQueue a), (a))                                                              \
    R(vkFlushMappedMemoryRanges, H | D, 0, (VkDevice a, uint32_t b, const VkMappedMemoryRange *c), (a, b, c))       \
    R(vkInvalidateMappedMemoryRanges, H | D, 0, (VkDevice a, uint32_t b, const VkMappedMemoryRange *c), (a, b, c))  \
    R(vkBindBufferMemory, H | D, 0, (VkDevice a, VkBuffer b, VkDeviceMemory c, VkDeviceSize d), (a, b, c, d))       \
    R(vkResetFences, D, 0, (VkDevice a, uint32_t b, const VkFence *c), (a, b, c))                                   \
    R(vkWaitForFences, H | D | L, 1, (VkDevice a, uint32_t b, const VkFence *c, VkBool32 d, uint64_t e),            \
      (a, b, c, d, e))                                                                                              \
    R(vkGetQueryPoolResults, H | D | L, 0,                                                                          \
      (VkDevice a, VkQueryPool b, uint32_t c, uint32_t d, size_t e, void *f, VkDeviceSize g, VkQueryResultFlags h), \
      (a, b, c, d, e, f, g, h))                                                                                     \
    R(vkGetPhysicalDeviceCalibrateableTimeDomainsEXT, H | D, 0,                                                     \
      (VkPhysicalDevice a, uint32_t * b, VkTimeDomainEXT * c), (a, b, c))                                           \
    R(vkGetCalibratedTimestampsEXT, H | D, 0,                                                                       \
      (VkDevice a, uint32_t b, const VkCalibratedTimestampInfoEXT *c, uint64_t *d, uint64_t *e), (a, b, c, d, e))   \
    R(vkGetPhysicalDeviceCalibrateableTimeDomainsKHR, H | D, 0,                                                     \
      (VkPhysicalDevice a, uint32_t * b, VkTimeDomainEXT * c), (a, b, c))                                           \
    R(vkGetCalibratedTimestampsKHR, H | D, 0,                                                                       \
      (VkDevice a, uint32_t b, const VkCalibratedTimestampInfoEXT *c, uint64_t *d, uint64_t *e), (a, b, c, d, e))   \
    R(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR, H | D, 0,                                                  \
      (VkPhysicalDevice a, uint32_t * b, VkCooperativeMatrixPropertiesKHR * c), (a, b, c))                          \
    R(vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV, H | D, 0,                                 \
      (VkPhysicalDevice a, uint32_t * b, VkCooperativeMatrixFlexibleDimensionsPropertiesNV * c), (a, b, c))         \
    R(vkEnumeratePhysicalDeviceQueueFamilyPerformanceQueryCountersKHR, H | D | I, 0,                                \
      (VkPhysicalDevice a, uint32_t b, uint32_t * c, VkPerformanceCounterKHR * d,                                   \
       VkPerformanceCounterDescriptionKHR * e),                                                                     \
      (a, b, c, d, e))                                                                                              \
    R(vkGetMemoryFdKHR, H, 0, (VkDevice a, const VkMemoryGetFdInfoKHR *b, int *c), (a, b, c))                       \
    R(vkGetMemoryFdPropertiesKHR, H, 0,                                                                             \
      (VkDevice a, VkExternalMemoryHandleTypeFlagBits b, int c, VkMemoryFdPropertiesKHR *d), (a, b, c, d))          \
    R(vkGetMemoryHostPointerPropertiesEXT, H, 0,                                                                    \
      (VkDevice a, VkExternalMemoryHandleTypeFlagBits b, const void *c, VkMemoryHostPointerPropertiesEXT *d),       \
      (a, b, c, d))                                                                                                 \
    R(vkAcquireProfilingLockKHR, H | D, 0, (VkDevice a, const VkAcquireProfilingLockInfoKHR *b), (a, b))            \
    R(vkGetPipelineCacheData, H | D, 0, (VkDevice a, VkPipelineCache b, size_t * c, void *d), (a, b, c, d))         \
    R(vkMergePipelineCaches, H | D, 0, (VkDevice a, VkPipelineCache b, uint32_t c, const VkPipelineCache *d),       \
      (a, b, c, d))                                                                                                 \
    R(vkResetDescriptorPool, 0, 0, (VkDevice a, VkDescriptorPool b, VkDescriptorPoolResetFlags c), (a, b, c))       \
    R(vkAllocateDescriptorSets, H | D, 0, (VkDevice a, const VkDescriptorSetAllocateInfo *b, VkDescriptorSet *c),   \
      (a, b, c))                                                                                                    \
    R(vkFreeDescriptorSets, 0, 0, (VkDevice a, VkDescriptorPool b, uint32_t c, const VkDescriptorSet *d),           \
      (a, b, c, d))                                                                                                 \
    R(vkResetCommandPool, D, 0, (VkDevice a, VkCommandPool b, VkCommandPoolResetFlags c), (a, b, c))                \
    R(vkAllocateCommandBuffers, H | D, 0, (VkDevice a, const VkCommandBufferAllocateInfo *b, VkCommandBuffer *c),   \
      (a, b, c))                                                                                                    \
    R(vkBeginCommandBuffer, H | D, 0, (VkCommandBuffer a, const VkCommandBufferBeginInfo *b), (a, b))               \
    R(vkEndCommandBuffer, H | D, 1, (VkCommandBuffer a), (a))                                                       \
    R(vkResetCommandBuffer, H | D, 0, (VkCommandBuffer a, VkCommandBufferResetFlags b), (a, b))

// C(name, results, parent type, info type, handle type): a call with info and allocator that makes one object.
#define CREATE_FUNCTIONS(C)                                                                                        \
    C(vkCreateDevice, H | D | I | L, VkPhysicalDevice, VkDeviceCreateInfo, VkDevice)                               \
    C(vkCreateDebugUtilsMessengerEXT, H, VkInstance, VkDebugUtilsMessengerCreateInfoEXT, VkDebugUtilsMessengerEXT) \
    C(vkCreateBuffer, H | D, VkDevice, VkBufferCreateInfo, VkBuffer)                                               \
    C(vkCreateBufferView, H | D, VkDevice, VkBufferViewCreateInfo, VkBufferView)                                   \
    C(vkCreateFence, H | D, VkDevice, VkFenceCreateInfo, VkFence)                                                  \
    C(vkCreateSemaphore, H | D, VkDevice, VkSemaphoreCreateInfo, VkSemaphore)                                      \
    C(vkCreateQueryPool, H | D, VkDevice, VkQueryPoolCreateInfo, VkQueryPool)                                      \
    C(vkCreateShaderModule, H | D, VkDevice, VkShaderModuleCreateInfo, VkShaderModule)                             \
    C(vkCreatePipelineCache, H | D, VkDevice, VkPipelineCacheCreateInfo, VkPipelineCache)                          \
    C(vkCreatePipelineLayout, H | D, VkDevice, VkPipelineLayoutCreateInfo, VkPipelineLayout)                       \
    C(vkCreateDescriptorSetLayout, H | D, VkDevice, VkDescriptorSetLayoutCreateInfo, VkDescriptorSetLayout)        \
    C(vkCreateDescriptorPool, H | D, VkDevice, VkDescriptorPoolCreateInfo, VkDescriptorPool)                       \
    C(vkCreateCommandPool, H | D, VkDevice, VkCommandPoolCreateInfo, VkCommandPool)

// X(name, parent type, handle type): destroys one object.
#define DESTROY_FUNCTIONS(X)                                                 \
    X(vkDestroyDebugUtilsMessengerEXT, VkInstance, VkDebugUtilsMessengerEXT) \
    X(vkFreeMemory, VkDevice, VkDeviceMemory)                                \
    X(vkDestroyBuffer, VkDevice, VkBuffer)                                   \
    X(vkDestroyBufferView, VkDevice, VkBufferView)                           \
    X(vkDestroyFence, VkDevice, VkFence)                                     \
    X(vkDestroySemaphore, VkDevice, VkSemaphore)                             \
    X(vkDestroyQueryPool, VkDevice, VkQueryPool)                             \
    X(vkDestroyShaderModule, VkDevice, VkShaderModule)                       \
    X(vkDestroyPipelineCache, VkDevice, VkPipelineCache)                     \
    X(vkDestroyPipeline, VkDevice, VkPipeline)                               \
    X(vkDestroyPipelineLayout, VkDevice, VkPipelineLayout)                   \
    X(vkDestroyDescriptorSetLayout, VkDevice, VkDescriptorSetLayout)         \
    X(vkDestroyDescriptorPool, VkDevice, VkDescriptorPool)                   \
    X(vkDestroyCommandPool, VkDevice, VkCommandPool)

// V(name, parameters, arguments): gives nothing, only counted.
#define VOID_FUNCTIONS(V)                                                                                              \
    V(vkGetPhysicalDeviceFeatures2, (VkPhysicalDevice a, VkPhysicalDeviceFeatures2 * b), (a, b))                       \
    V(vkGetPhysicalDeviceQueueFamilyProperties, (VkPhysicalDevice a, uint32_t * b, VkQueueFamilyProperties * c),       \
      (a, b, c))                                                                                                       \
    V(vkGetPhysicalDeviceExternalBufferProperties,                                                                     \
      (VkPhysicalDevice a, const VkPhysicalDeviceExternalBufferInfo *b, VkExternalBufferProperties *c), (a, b, c))     \
    V(vkGetPhysicalDeviceQueueFamilyPerformanceQueryPassesKHR,                                                         \
      (VkPhysicalDevice a, const VkQueryPoolPerformanceCreateInfoKHR *b, uint32_t *c), (a, b, c))                      \
    V(vkGetDeviceQueue, (VkDevice a, uint32_t b, uint32_t c, VkQueue * d), (a, b, c, d))                               \
    V(vkUnmapMemory, (VkDevice a, VkDeviceMemory b), (a, b))                                                           \
    V(vkUpdateDescriptorSets,                                                                                          \
      (VkDevice a, uint32_t b, const VkWriteDescriptorSet *c, uint32_t d, const VkCopyDescriptorSet *e),               \
      (a, b, c, d, e))                                                                                                 \
    V(vkFreeCommandBuffers, (VkDevice a, VkCommandPool b, uint32_t c, const VkCommandBuffer *d), (a, b, c, d))         \
    V(vkCmdBindPipeline, (VkCommandBuffer a, VkPipelineBindPoint b, VkPipeline c), (a, b, c))                          \
    V(vkCmdBindDescriptorSets,                                                                                         \
      (VkCommandBuffer a, VkPipelineBindPoint b, VkPipelineLayout c, uint32_t d, uint32_t e, const VkDescriptorSet *f, \
       uint32_t g, const uint32_t *h),                                                                                 \
      (a, b, c, d, e, f, g, h))                                                                                        \
    V(vkCmdPushConstants,                                                                                              \
      (VkCommandBuffer a, VkPipelineLayout b, VkShaderStageFlags c, uint32_t d, uint32_t e, const void *f),            \
      (a, b, c, d, e, f))                                                                                              \
    V(vkCmdDispatch, (VkCommandBuffer a, uint32_t b, uint32_t c, uint32_t d), (a, b, c, d))                            \
    V(vkCmdDispatchIndirect, (VkCommandBuffer a, VkBuffer b, VkDeviceSize c), (a, b, c))                               \
    V(vkCmdPipelineBarrier,                                                                                            \
      (VkCommandBuffer a, VkPipelineStageFlags b, VkPipelineStageFlags c, VkDependencyFlags d, uint32_t e,             \
       const VkMemoryBarrier *f, uint32_t g, const VkBufferMemoryBarrier *h, uint32_t i,                               \
       const VkImageMemoryBarrier *j),                                                                                 \
      (a, b, c, d, e, f, g, h, i, j))                                                                                  \
    V(vkCmdCopyBuffer, (VkCommandBuffer a, VkBuffer b, VkBuffer c, uint32_t d, const VkBufferCopy *e),                 \
      (a, b, c, d, e))                                                                                                 \
    V(vkCmdUpdateBuffer, (VkCommandBuffer a, VkBuffer b, VkDeviceSize c, VkDeviceSize d, const void *e),               \
      (a, b, c, d, e))                                                                                                 \
    V(vkCmdFillBuffer, (VkCommandBuffer a, VkBuffer b, VkDeviceSize c, VkDeviceSize d, uint32_t e), (a, b, c, d, e))   \
    V(vkCmdExecuteCommands, (VkCommandBuffer a, uint32_t b, const VkCommandBuffer *c), (a, b, c))                      \
    V(vkCmdBeginQuery, (VkCommandBuffer a, VkQueryPool b, uint32_t c, VkQueryControlFlags d), (a, b, c, d))            \
    V(vkCmdEndQuery, (VkCommandBuffer a, VkQueryPool b, uint32_t c), (a, b, c))                                        \
    V(vkResetQueryPool, (VkDevice a, VkQueryPool b, uint32_t c, uint32_t d), (a, b, c, d))                             \
    V(vkReleaseProfilingLockKHR, (VkDevice a), (a))                                                                    \
    V(vkCmdResetQueryPool, (VkCommandBuffer a, VkQueryPool b, uint32_t c, uint32_t d), (a, b, c, d))                   \
    V(vkCmdWriteTimestamp, (VkCommandBuffer a, VkPipelineStageFlagBits b, VkQueryPool c, uint32_t d), (a, b, c, d))

// O(name, 0): wrapped by hand below.
#define OTHER_FUNCTIONS(O)                     \
    O(vkCreateInstance, 0)                     \
    O(vkDestroyInstance, 0)                    \
    O(vkDestroyDevice, 0)                      \
    O(vkAllocateMemory, 0)                     \
    O(vkMapMemory, 0)                          \
    O(vkCreateComputePipelines, 0)             \
    O(vkGetFenceStatus, 0)                     \
    O(vkGetPhysicalDeviceProperties, 0)        \
    O(vkGetPhysicalDeviceProperties2, 0)       \
    O(vkGetPhysicalDeviceMemoryProperties2, 0) \
    O(vkGetBufferMemoryRequirements, 0)        \
    O(vkGetBufferMemoryRequirements2, 0)       \
    O(vkGetBufferDeviceAddress, 0)             \
    O(vkGetBufferDeviceAddressKHR, 0)          \
    O(vkSetDebugUtilsObjectNameEXT, 0)         \
    O(vkGetDeviceProcAddr, 0)

#endif

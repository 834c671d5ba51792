// What a VkResult means to the library's callers: a status, and a message that says what to do.
#include "vk/loader.h"

// X(result, status, what to do)
#define RESULT_LIST(X)                                                                                               \
    X(VK_NOT_READY, VKF_ERROR_VULKAN, "the work has not finished yet: wait for it first")                            \
    X(VK_TIMEOUT, VKF_ERROR_VULKAN, "the device did not finish in time: submit less work at once")                   \
    X(VK_EVENT_SET, VKF_ERROR_VULKAN, "an event's state came back where success was expected")                       \
    X(VK_EVENT_RESET, VKF_ERROR_VULKAN, "an event's state came back where success was expected")                     \
    X(VK_INCOMPLETE, VKF_ERROR_VULKAN, "the list grew while it was read: try again")                                 \
    X(VK_ERROR_OUT_OF_HOST_MEMORY, VKF_ERROR_OUT_OF_HOST_MEMORY,                                                     \
      "the driver found no host memory: close other programs or use smaller sizes")                                  \
    X(VK_ERROR_OUT_OF_DEVICE_MEMORY, VKF_ERROR_OUT_OF_DEVICE_MEMORY,                                                 \
      "device memory is exhausted: use smaller maximum sizes, or a device with more memory")                         \
    X(VK_ERROR_INITIALIZATION_FAILED, VKF_ERROR_VULKAN,                                                              \
      "the driver could not start: check its installation, for example with vulkaninfo, and that this process may "  \
      "have the memory that it takes (ulimit -v)")                                                                   \
    X(VK_ERROR_DEVICE_LOST, VKF_ERROR_DEVICE_LOST,                                                                   \
      "the device hung, was reset or was removed: destroy the context and create a new one")                         \
    X(VK_ERROR_MEMORY_MAP_FAILED, VKF_ERROR_VULKAN, "the memory could not be mapped: the address space may be full") \
    X(VK_ERROR_LAYER_NOT_PRESENT, VKF_ERROR_VULKAN, "a Vulkan layer is not installed")                               \
    X(VK_ERROR_EXTENSION_NOT_PRESENT, VKF_ERROR_VULKAN, "an extension is missing: update the Vulkan driver")         \
    X(VK_ERROR_FEATURE_NOT_PRESENT, VKF_ERROR_VULKAN, "a feature is missing: update the Vulkan driver")              \
    X(VK_ERROR_INCOMPATIBLE_DRIVER, VKF_ERROR_VULKAN, "no installed driver serves this Vulkan version: update it")   \
    X(VK_ERROR_TOO_MANY_OBJECTS, VKF_ERROR_VULKAN, "the driver allows no more objects of this kind")                 \
    X(VK_ERROR_FORMAT_NOT_SUPPORTED, VKF_ERROR_VULKAN, "the device does not support the format")                     \
    X(VK_ERROR_FRAGMENTED_POOL, VKF_ERROR_VULKAN, "a descriptor pool is fragmented")                                 \
    X(VK_ERROR_OUT_OF_POOL_MEMORY, VKF_ERROR_VULKAN, "a descriptor pool is full")                                    \
    X(VK_ERROR_INVALID_EXTERNAL_HANDLE, VKF_ERROR_VULKAN, "an imported handle is not of the kind it was said to be") \
    X(VK_ERROR_FRAGMENTATION, VKF_ERROR_VULKAN, "the driver's memory is fragmented: destroy unused objects")         \
    X(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS, VKF_ERROR_VULKAN, "an address that was asked for is not free")        \
    X(VK_PIPELINE_COMPILE_REQUIRED, VKF_ERROR_VULKAN, "a pipeline would have to be compiled first")                  \
    X(VK_ERROR_VALIDATION_FAILED_EXT, VKF_ERROR_VULKAN, "the validation layers stopped the call: see their message") \
    X(VK_ERROR_INVALID_SHADER_NV, VKF_ERROR_VULKAN, "the driver's shader compiler refused a shader")                 \
    X(VK_ERROR_NOT_PERMITTED_KHR, VKF_ERROR_VULKAN, "the system does not permit the call to this program")           \
    X(VK_ERROR_UNKNOWN, VKF_ERROR_VULKAN, "the driver failed without saying why: look at the system's log")

vkf_status vkf__vulkan_status(const vkf__host *host, VkResult result, const char *where)
{
    static const struct {
        VkResult result;
        vkf_status status;
        const char *name;
        const char *advice;
    } rows[] = {
#define RESULT_ROW(result, status, advice) {result, status, #result, advice},
        RESULT_LIST(RESULT_ROW)
#undef RESULT_ROW
    };
    if (result == VK_SUCCESS)
        return VKF_OK;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].result == result)
            return vkf__fail(host, rows[i].status, "%s: %s: %s", where, rows[i].name, rows[i].advice);
    return vkf__fail(host, VKF_ERROR_VULKAN, "%s: VkResult %d, which this library does not know: update the driver",
                     where, (int)result);
}

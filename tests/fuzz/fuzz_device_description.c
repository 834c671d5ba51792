// Descriptions of devices: none is read beyond its end, and what is accepted can be planned for.
#include <string.h>

#include "../unit/recording_host.h"
#include "fuzz.h"
#include "vk/described.h"
#include "vk/plan.h"

#include <vkformer/plan.h>

#define PROFILE(block) \
    "{\"capabilities\":{\"c\":" block "},\"profiles\":{\"p\":{\"api-version\":\"1.3.0\",\"capabilities\":[\"c\"]}}}"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("{\"capabilities\":{},\"profiles\":{\"p\":{\"capabilities\":[]}}}"),
    FUZZ_TEXT(PROFILE("{\"extensions\":{\"VK_KHR_cooperative_matrix\":1},\"features\":{\"VkPhysicalDeviceFeatures\":"
                      "{\"shaderInt64\":true},\"VkPhysicalDeviceVulkan12Features\":{\"shaderFloat16\":true}}}")),
    FUZZ_TEXT(PROFILE("{\"properties\":{\"VkPhysicalDeviceProperties\":{\"deviceName\":\"x\",\"deviceType\":"
                      "\"VK_PHYSICAL_DEVICE_TYPE_CPU\",\"limits\":{\"maxComputeWorkGroupCount\":[65535,65535,65535],"
                      "\"nonCoherentAtomSize\":64,\"timestampPeriod\":1.5}}}}")),
    FUZZ_TEXT(PROFILE("{\"properties\":{\"VkPhysicalDeviceMemoryProperties\":{\"memoryHeaps\":[{\"size\":1024,"
                      "\"flags\":[\"VK_MEMORY_HEAP_DEVICE_LOCAL_BIT\"]}],\"memoryTypes\":[{\"heapIndex\":0,"
                      "\"propertyFlags\":7}]}},\"queueFamiliesProperties\":[{\"VkQueueFamilyProperties\":"
                      "{\"queueFlags\":[\"VK_QUEUE_COMPUTE_BIT\"],\"queueCount\":1}}]}")),
    FUZZ_TEXT(
        "{\"capabilities\":{\"c\":{}},\"profiles\":{\"p\":{\"profiles\":[\"q\"],\"capabilities\":[[\"c\",\"d\"]]},"
        "\"q\":{\"capabilities\":[]}},\"vkformer\":{\"VkCooperativeMatrixPropertiesKHR\":[{\"MSize\":16,"
        "\"AType\":\"VK_COMPONENT_TYPE_FLOAT16_KHR\",\"scope\":\"VK_SCOPE_SUBGROUP_KHR\"}]}}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static void plan(const vkf_device_description *description)
{
    const vkf__plan_wishes wishes = {0};
    recording_host recording;
    vkf__device_plan made;
    recording_host_init(&recording);
    vkf_status status = vkf__device_plan_make(&recording.host, &description->caps, &wishes, &made);
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_NO_DEVICE || status == VKF_ERROR_UNSUPPORTED);
    FUZZ_CHECK(status != VKF_OK || made.buffer_alignment >= 256);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    recording_host recording;
    vkf_device_description *description = NULL;
    recording_host_init(&recording);
    const vkf_device_description_desc desc = {
        .text = (const char *)data,
        .text_bytes = size_bytes,
        .message = recording.host.message,
        .message_user = recording.host.message_user,
        .allocator = recording.host.allocator,
    };
    vkf_status status = vkf_device_description_create(&desc, &description);
    FUZZ_CHECK((status == VKF_OK) == (description != NULL));
    FUZZ_CHECK(status == VKF_OK || (status == VKF_ERROR_FORMAT && recording.messages == 1));
    if (description)
        plan(description);
    vkf_device_description_destroy(&description);
    FUZZ_CHECK(recording.live == 0);
    return 0;
}

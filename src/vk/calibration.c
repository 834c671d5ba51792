// Reads the device's clock and the host's together.
#include "vk/calibration.h"

#define MAX_DOMAINS 16u

bool vkf__calibration_offered(const vkf__instance *instance, VkPhysicalDevice device, bool khr)
{
    VkTimeDomainEXT domains[MAX_DOMAINS];
    uint32_t count = MAX_DOMAINS;
    bool ticks = false, monotonic = false;
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT list =
        (PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT)instance->get_proc(
            instance->handle,
            khr ? "vkGetPhysicalDeviceCalibrateableTimeDomainsKHR" : "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT");
    VkResult result = list ? list(device, &count, domains) : VK_ERROR_EXTENSION_NOT_PRESENT;
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        ticks = ticks || domains[i] == VK_TIME_DOMAIN_DEVICE_EXT;
        monotonic = monotonic || domains[i] == VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT;
    }
    return ticks && monotonic;
}

bool vkf__calibrate(vkf__device *device, vkf__calibration *out_calibration)
{
    const VkCalibratedTimestampInfoEXT infos[] = {
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_DEVICE_EXT},
        {.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT, .timeDomain = VK_TIME_DOMAIN_CLOCK_MONOTONIC_EXT},
    };
    uint64_t values[2] = {0}, deviation = 0;
    if (!device->plan.enabled.calibrated_timestamps || !device->vk.vkGetCalibratedTimestampsEXT ||
        device->vk.vkGetCalibratedTimestampsEXT(device->handle, 2, infos, values, &deviation) != VK_SUCCESS)
        return false;
    *out_calibration = (vkf__calibration){
        .device_ticks = values[0],
        .host_ns = (double)values[1],
        .deviation_ns = (double)deviation,
    };
    return true;
}

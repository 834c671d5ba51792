// The device's clock beside the host's, by VK_KHR_calibrated_timestamps. VK_EXT_calibrated_timestamps is its older
// name; structures and functions are the same under both.
#ifndef VKF_VK_CALIBRATION_H
#define VKF_VK_CALIBRATION_H

#include "vk/device.h"

#define VKF_KHR_CALIBRATED_TIMESTAMPS "VK_KHR_calibrated_timestamps" // not in all headers that this builds with

// What both clocks showed at the same time.
typedef struct vkf__calibration {
    uint64_t device_ticks;
    double host_ns;      // as from vkf__now_ns()
    double deviation_ns; // the most by which the two may be apart
} vkf__calibration;

// Whether the device's clock can be read together with that of vkf__now_ns(). `khr` asks under the newer name.
bool vkf__calibration_offered(const vkf__instance *instance, VkPhysicalDevice device, bool khr);

// False where the plan does not enable it, or where the driver cannot tell at the moment.
bool vkf__calibrate(vkf__device *device, vkf__calibration *out_calibration);

#endif

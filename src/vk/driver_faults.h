// What drivers are known to report and not to keep. Kernels are proven before their first use, so this table is for
// what that does not find, or finds too late: calls that crash, and results that are wrong now and then.
#ifndef VKF_VK_DRIVER_FAULTS_H
#define VKF_VK_DRIVER_FAULTS_H

#include "vk/caps.h"

// Fields that are 0 stand for any value.
typedef struct vkf__driver_fault {
    uint32_t driver_id; // of VkDriverId
    uint32_t vendor_id;
    uint32_t device_first, device_last; // a range of device ids; `device_last` 0: all of them
    vkf_device_type type;               // OTHER: any
    uint32_t version_end;               // driver versions below it have the fault; 0: all that are known
    const char *feature;                // that is not used, by Vulkan's name; NULL: none
    const char *kernels;                // that are not used, by the beginning of their names; NULL: none
    const char *why;                    // where it was reported, and what was seen
} vkf__driver_fault;

uint32_t vkf__driver_fault_count(void);
const vkf__driver_fault *vkf__driver_fault_at(uint32_t index);

// Whether a device has the fault. Reads what identifies device and driver, nothing else. Pure.
bool vkf__driver_has_fault(const vkf__caps *caps, const vkf__driver_fault *fault);

// Notes the device's faults in its caps, and switches off the features that they name. Pure.
void vkf__driver_faults_apply(vkf__caps *caps);

// Why a kernel is not used on a device with these faults; NULL where none of them names it. Pure.
const char *vkf__driver_fault_of_kernel(const vkf__caps *caps, const char *kernel);

#endif

#include "vk/device.h"

vkf_status vkf__volk_table_load(const vkf__host *host, PFN_vkGetDeviceProcAddr get_proc, VkDevice device,
                                struct VolkDeviceTable *out_table)
{
    struct VolkDeviceTable table = {0};
    const char *missing = NULL;

#define LOAD_FUNCTION(name) table.name = (PFN_##name)get_proc(device, #name);
    VKF_DEVICE_FUNCTIONS(LOAD_FUNCTION)
    VKF_DEVICE_FUNCTIONS_OPTIONAL(LOAD_FUNCTION)
#undef LOAD_FUNCTION

#define CHECK_FUNCTION(name)     \
    if (!table.name && !missing) \
        missing = #name;
    VKF_DEVICE_FUNCTIONS(CHECK_FUNCTION)
#undef CHECK_FUNCTION

    if (missing)
        return vkf__fail(host, VKF_ERROR_VULKAN,
                         "the Vulkan driver has no function %s, which Vulkan 1.1 requires: update the driver", missing);
    *out_table = table;
    return VKF_OK;
}

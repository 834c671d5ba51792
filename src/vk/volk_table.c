// Loads the functions of a device into its own table.
#include "vk/device.h"

#include <string.h>

// A loop over a table, because as many calls written out would take 40 kB more.
typedef struct entry {
    const char *name;
    size_t offset; // in the table of functions
    bool optional;
} entry;

#define REQUIRED_ENTRY(name) {#name, offsetof(struct VolkDeviceTable, name), false},
#define OPTIONAL_ENTRY(name) {#name, offsetof(struct VolkDeviceTable, name), true},
static const entry entries[] = {VKF_DEVICE_FUNCTIONS(REQUIRED_ENTRY) VKF_DEVICE_FUNCTIONS_OPTIONAL(OPTIONAL_ENTRY)};
#undef REQUIRED_ENTRY
#undef OPTIONAL_ENTRY

vkf_status vkf__volk_table_load(const vkf__host *host, PFN_vkGetDeviceProcAddr get_proc, VkDevice device,
                                struct VolkDeviceTable *out_table)
{
    struct VolkDeviceTable table = {0};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        PFN_vkVoidFunction function = get_proc(device, entries[i].name);
        if (!function && !entries[i].optional)
            return vkf__fail(host, VKF_ERROR_VULKAN,
                             "the Vulkan driver has no function %s, which Vulkan 1.1 requires: update the driver",
                             entries[i].name);
        memcpy((char *)&table + entries[i].offset, &function, sizeof function);
    }
    // The newer name of the same function, which has no member in older tables.
    if (!table.vkGetCalibratedTimestampsEXT) {
        PFN_vkVoidFunction function = get_proc(device, "vkGetCalibratedTimestampsKHR");
        memcpy(&table.vkGetCalibratedTimestampsEXT, &function, sizeof function);
    }
    *out_table = table;
    return VKF_OK;
}

// The table of driver faults. A row is added with the report that it is taken from, and with a device of its own in the
// table's test.
#include "vk/driver_faults.h"

#include <string.h>

enum { AMD = 0x1002, INTEL = 0x8086, NVIDIA = 0x10de, QUALCOMM = 0x5143 };

// Navi 2x, which multiplies no matrices.
#define RDNA_2 .device_first = 0x73a0, .device_last = 0x743f
#define ARC_ALCHEMIST .device_first = 0x5690, .device_last = 0x56c1
#define INTEL_DG1 .device_first = 0x4905, .device_last = 0x4909
#define TURING .device_first = 0x1e00, .device_last = 0x21ff
#define ADRENO_840 .device_first = 0x44050a00, .device_last = 0x44050aff

static const vkf__driver_fault faults[] = {
    {.driver_id = VK_DRIVER_ID_AMD_PROPRIETARY,
     .vendor_id = AMD,
     .type = VKF_DEVICE_TYPE_INTEGRATED,
     .feature = "cooperativeMatrix",
     .why = "the driver crashes when it is asked for the shapes of matrices (AMDVLK 422, llama.cpp 22750)"},
    {.driver_id = VK_DRIVER_ID_AMD_OPEN_SOURCE,
     .vendor_id = AMD,
     .type = VKF_DEVICE_TYPE_INTEGRATED,
     .feature = "cooperativeMatrix",
     .why = "the driver crashes when it is asked for the shapes of matrices (AMDVLK 422, llama.cpp 22750)"},
    {.driver_id = VK_DRIVER_ID_AMD_PROPRIETARY,
     .vendor_id = AMD,
     RDNA_2,
     .feature = "cooperativeMatrix",
     .why = "the driver offers matrices that the device has to imitate (llama.cpp 11074, ncnn 6504)"},
    {.driver_id = VK_DRIVER_ID_AMD_OPEN_SOURCE,
     .vendor_id = AMD,
     RDNA_2,
     .feature = "cooperativeMatrix",
     .why = "the driver offers matrices that the device has to imitate (llama.cpp 11074, ncnn 6504)"},
    {.driver_id = VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS,
     .vendor_id = INTEL,
     ARC_ALCHEMIST,
     .feature = "cooperativeMatrix",
     .why = "products of some shapes take up to a thousand times as long by matrices (llama.cpp 24404)"},
    {.driver_id = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
     .vendor_id = INTEL,
     INTEL_DG1,
     .feature = "cooperativeMatrix",
     .why = "products by imitated matrices are wrong (llama.cpp 12690, ncnn 5739)"},
    {.driver_id = VK_DRIVER_ID_QUALCOMM_PROPRIETARY,
     .vendor_id = QUALCOMM,
     ADRENO_840,
     .feature = "cooperativeMatrix",
     .why = "matrices are loaded from packed shared memory with a wrong stride (ncnn 6972)"},
    {.driver_id = VK_DRIVER_ID_NVIDIA_PROPRIETARY,
     .vendor_id = NVIDIA,
     TURING,
     .kernels = "attention_coopmat",
     .why = "the driver compiles attention by matrices wrongly (llama.cpp 19290)"},
    {.driver_id = VK_DRIVER_ID_MOLTENVK,
     .vendor_id = AMD,
     .feature = "subgroupArithmetic",
     .why = "sums over subgroups are wrong (llama.cpp 15846)"},
    {.driver_id = VK_DRIVER_ID_MOLTENVK,
     .vendor_id = AMD,
     .feature = "subgroupShuffle",
     .why = "shuffles within subgroups are wrong (llama.cpp 20029)"},
    {.driver_id = VK_DRIVER_ID_MOLTENVK,
     .kernels = "attention_decode_joined",
     .why = "Metal before version 3.2 keeps no order between the accesses of different workgroups"},
};

enum { FAULTS = sizeof faults / sizeof faults[0] };
_Static_assert(FAULTS <= 32, "vkf__caps.faults has a bit for each");

uint32_t vkf__driver_fault_count(void)
{
    return FAULTS;
}

const vkf__driver_fault *vkf__driver_fault_at(uint32_t index)
{
    return &faults[index];
}

bool vkf__driver_has_fault(const vkf__caps *caps, const vkf__driver_fault *fault)
{
    return (fault->driver_id == 0 || fault->driver_id == caps->driver_id) &&
           (fault->vendor_id == 0 || fault->vendor_id == caps->vendor_id) &&
           (fault->device_last == 0 ||
            (caps->device_id >= fault->device_first && caps->device_id <= fault->device_last)) &&
           (fault->type == VKF_DEVICE_TYPE_OTHER || fault->type == caps->type) &&
           (fault->version_end == 0 || caps->driver_version < fault->version_end);
}

static void switch_off(vkf__caps *caps, const char *name)
{
    for (uint32_t i = 0; i < VKF_FEATURE_COUNT; i++) {
        if (strcmp(vkf__feature_table[i].name, name) == 0)
            vkf__feature_set_in_caps(&vkf__feature_table[i], caps, false);
    }
}

void vkf__driver_faults_apply(vkf__caps *caps)
{
    for (uint32_t i = 0; i < FAULTS; i++) {
        if (!vkf__driver_has_fault(caps, &faults[i]))
            continue;
        caps->faults |= UINT32_C(1) << i;
        if (faults[i].feature)
            switch_off(caps, faults[i].feature);
    }
}

const char *vkf__driver_fault_of_kernel(const vkf__caps *caps, const char *kernel)
{
    for (uint32_t i = 0; caps->faults >> i != 0; i++) {
        const char *kernels = caps->faults >> i & 1 ? faults[i].kernels : NULL;
        if (kernels && strncmp(kernel, kernels, strlen(kernels)) == 0)
            return faults[i].why;
    }
    return NULL;
}

// The table of driver faults, with devices written by hand: those of the reports, and their neighbours.
#include "caps_fixture.h"

#include "kernel/select.h"
#include "vk/driver_faults.h"

typedef struct known_device {
    const char *name;
    uint32_t driver_id, vendor_id, device_id;
    vkf_device_type type;
    bool matrices, subgroups, attention; // that are left
} known_device;

static const known_device devices[] = {
    {"Radeon 860M", VK_DRIVER_ID_AMD_PROPRIETARY, 0x1002, 0x1114, VKF_DEVICE_TYPE_INTEGRATED, false, true, false},
    {"Radeon 860M", VK_DRIVER_ID_AMD_OPEN_SOURCE, 0x1002, 0x1114, VKF_DEVICE_TYPE_INTEGRATED, false, true, false},
    {"Radeon 860M", VK_DRIVER_ID_MESA_RADV, 0x1002, 0x1114, VKF_DEVICE_TYPE_INTEGRATED, true, true, true},
    {"RX 6800 XT", VK_DRIVER_ID_AMD_PROPRIETARY, 0x1002, 0x73bf, VKF_DEVICE_TYPE_DISCRETE, false, true, false},
    {"RX 6500 XT", VK_DRIVER_ID_AMD_OPEN_SOURCE, 0x1002, 0x743f, VKF_DEVICE_TYPE_DISCRETE, false, true, false},
    {"RX 7900 XTX", VK_DRIVER_ID_AMD_PROPRIETARY, 0x1002, 0x744c, VKF_DEVICE_TYPE_DISCRETE, true, true, true},
    {"RX 5700 XT", VK_DRIVER_ID_MOLTENVK, 0x1002, 0x731f, VKF_DEVICE_TYPE_DISCRETE, true, false, true},
    {"Apple M2", VK_DRIVER_ID_MOLTENVK, 0x106b, 0x1a050209, VKF_DEVICE_TYPE_INTEGRATED, true, true, true},
    {"Arc A770", VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS, 0x8086, 0x56a0, VKF_DEVICE_TYPE_DISCRETE, false, true, false},
    {"Arc B580", VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS, 0x8086, 0xe20b, VKF_DEVICE_TYPE_DISCRETE, true, true, true},
    {"Arc A770", VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 0x8086, 0x56a0, VKF_DEVICE_TYPE_DISCRETE, true, true, true},
    {"Iris Xe MAX", VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 0x8086, 0x4905, VKF_DEVICE_TYPE_DISCRETE, false, true, false},
    {"Adreno 840", VK_DRIVER_ID_QUALCOMM_PROPRIETARY, 0x5143, 0x44050a31, VKF_DEVICE_TYPE_INTEGRATED, false, true,
     false},
    {"Adreno 840", VK_DRIVER_ID_MESA_TURNIP, 0x5143, 0x44050a31, VKF_DEVICE_TYPE_INTEGRATED, true, true, true},
    {"Adreno 750", VK_DRIVER_ID_QUALCOMM_PROPRIETARY, 0x5143, 0x43051401, VKF_DEVICE_TYPE_INTEGRATED, true, true, true},
    {"RTX 2080 Ti", VK_DRIVER_ID_NVIDIA_PROPRIETARY, 0x10de, 0x1e07, VKF_DEVICE_TYPE_DISCRETE, true, true, false},
    {"Titan V", VK_DRIVER_ID_NVIDIA_PROPRIETARY, 0x10de, 0x1d81, VKF_DEVICE_TYPE_DISCRETE, true, true, true},
    {"RTX 3090", VK_DRIVER_ID_NVIDIA_PROPRIETARY, 0x10de, 0x2204, VKF_DEVICE_TYPE_DISCRETE, true, true, true},
};
enum { DEVICES = sizeof devices / sizeof devices[0] };

static vkf__caps caps_of(const known_device *device)
{
    vkf__caps caps = rich_caps(device->name, device->type);
    caps.driver_id = device->driver_id;
    caps.vendor_id = device->vendor_id;
    caps.device_id = device->device_id;
    add_matrices(&caps, 16);
    vkf__driver_faults_apply(&caps);
    settle_traits(&caps);
    return caps;
}

// Whether the device may use a kernel of attention by matrices.
static bool has_attention_by_matrices(const vkf__caps *caps)
{
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        if (strncmp(kernel->name, "attention_coopmat", 17) == 0 &&
            vkf__kernel_supported(caps, kernel, &kernel->configs[0], NULL))
            return true;
    }
    return false;
}

static void test_faults_of_known_devices(void **state)
{
    (void)state;
    for (size_t i = 0; i < DEVICES; i++) {
        const known_device *device = &devices[i];
        const vkf__caps caps = caps_of(device);
        if (caps.matrix.cooperative_matrix != device->matrices || caps.subgroup_arithmetic != device->subgroups ||
            caps.subgroup_shuffle != device->subgroups || has_attention_by_matrices(&caps) != device->attention)
            fail_msg("%s with driver %u: matrices %d, sums %d, shuffles %d, attention by matrices %d", device->name,
                     device->driver_id, caps.matrix.cooperative_matrix, caps.subgroup_arithmetic, caps.subgroup_shuffle,
                     has_attention_by_matrices(&caps));
    }
}

// Every row is met by a device above, names a feature that there is or kernels that there are, and says why.
static void test_faults_are_about_something(void **state)
{
    (void)state;
    for (uint32_t row = 0; row < vkf__driver_fault_count(); row++) {
        const vkf__driver_fault *fault = vkf__driver_fault_at(row);
        uint32_t met = 0, named = 0;
        for (size_t i = 0; i < DEVICES; i++)
            met += caps_of(&devices[i]).faults >> row & 1;
        for (uint32_t i = 0; fault->feature && i < VKF_FEATURE_COUNT; i++)
            named += strcmp(vkf__feature_table[i].name, fault->feature) == 0;
        for (uint32_t i = 0; fault->kernels && i < vkf__kernel_count(); i++)
            named += strncmp(vkf__kernel_at(i)->name, fault->kernels, strlen(fault->kernels)) == 0;
        if (met == 0 || named == 0 || !fault->why || !*fault->why)
            fail_msg("row %u: met by %u devices, names %u things", row, met, named);
    }
}

// Each member of a row narrows it.
static void test_fault_matches_by_every_member(void **state)
{
    const vkf__driver_fault fault = {.driver_id = 4,
                                     .vendor_id = 5,
                                     .device_first = 10,
                                     .device_last = 20,
                                     .type = VKF_DEVICE_TYPE_DISCRETE,
                                     .version_end = 100};
    const vkf__driver_fault any = {0};
    const vkf__caps good = {
        .driver_id = 4, .vendor_id = 5, .device_id = 10, .type = VKF_DEVICE_TYPE_DISCRETE, .driver_version = 99};
    vkf__caps caps = good;
    (void)state;
    assert_true(vkf__driver_has_fault(&caps, &fault) && vkf__driver_has_fault(&caps, &any));
    caps.device_id = 20;
    assert_true(vkf__driver_has_fault(&caps, &fault));
    caps.device_id = 21;
    assert_false(vkf__driver_has_fault(&caps, &fault));
    caps.device_id = 9;
    assert_false(vkf__driver_has_fault(&caps, &fault));
    caps = good;
    caps.driver_id = 3;
    assert_false(vkf__driver_has_fault(&caps, &fault));
    caps = good;
    caps.vendor_id = 3;
    assert_false(vkf__driver_has_fault(&caps, &fault));
    caps = good;
    caps.type = VKF_DEVICE_TYPE_INTEGRATED;
    assert_false(vkf__driver_has_fault(&caps, &fault));
    caps = good;
    caps.driver_version = 100;
    assert_false(vkf__driver_has_fault(&caps, &fault));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_of_known_devices),
        cmocka_unit_test(test_faults_are_about_something),
        cmocka_unit_test(test_fault_matches_by_every_member),
    };
    return cmocka_run_group_tests_name("driver_faults", tests, NULL, NULL);
}

// What drivers say about pipelines, and what becomes of it: as Mesa 26.2 says it, and where no such GPU was there, as
// the driver's source or documentation has it (docs/shaders.md).
#include "kernel/statistics.h"

#include <math.h>

#include "caps_fixture.h"

#define COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

typedef struct canned {
    const char *driver;
    uint32_t driver_id;
    uint32_t subgroup_size;
    vkf_kernel_statistics expected;
    vkf_statistic list[18];
} canned;

#define UNKNOWN VKF_STATISTIC_UNKNOWN

// Registers, spills, inner spills, scratch, shared, instructions, code, waves.
static const canned drivers[] = {
    {"RADV",
     VK_DRIVER_ID_MESA_RADV,
     64,
     {108, 5, 2, 16, 17408, 2571, 14420, 12},
     {{"Driver pipeline hash", 4.47244e18},
      {"SGPRs", 108},
      {"VGPRs", 108},
      {"Spilled SGPRs", 2},
      {"Spilled VGPRs", 5},
      {"Code size", 14420},
      {"LDS size", 17408},
      {"Scratch size", 1024},
      {"Subgroups per SIMD", 12},
      {"Hash", 3749600000},
      {"Instructions", 2571},
      {"Pre-Sched VGPRs", 85}}},
    {"Turnip",
     VK_DRIVER_ID_MESA_TURNIP,
     128,
     {192, 7, UNKNOWN, UNKNOWN, UNKNOWN, 3682, 4352, 4},
     {{"Max Waves Per Core", 4},
      {"Instruction Count", 3682},
      {"Code size", 4352},
      {"NOPs Count", 1682},
      {"Registers used", 48},
      {"Half-registers used", 0},
      {"STP Count", 7},
      {"LDP Count", 9},
      {"Preamble Instruction Count", 78}}},
    {"PanVK",
     20,
     16,
     {64, 22, UNKNOWN, UNKNOWN, UNKNOWN, 2072, 16640, 1},
     {{"Instructions", 2072},
      {"Cycles", 332},
      {"FMA", 3.51562},
      {"CVT", 18.7812},
      {"SFU", 19.4375},
      {"ALU", 27.1562},
      {"Varying", 0},
      {"Texture", 0},
      {"Load/store", 332},
      {"Code size", 16640},
      {"Threads", 1},
      {"Loops", 3},
      {"Spills", 22},
      {"Fills", 37},
      {"Spill cost", 1190},
      {"Registers used", 64},
      {"Uniforms used", 7}}},
    {"NVK",
     24,
     32,
     {96, 3, 1, 64, UNKNOWN, 3000, 48000, 20},
     {{"Instruction count", 3000},
      {"Static cycle count", 226302},
      {"Max warps/SM", 20},
      {"Spills to memory", 3},
      {"Fills from memory", 4},
      {"Spills to reg", 1},
      {"Fills from reg", 1},
      {"Code size", 48000},
      {"Number of GPRs", 96},
      {"SLM size", 64}}},
    {"Honeykrisp",
     26,
     32,
     {110, 8, UNKNOWN, 48, UNKNOWN, 3271, 20722, 14},
     {{"Instructions", 3271},
      {"ALU", 1443},
      {"Code size", 20722},
      {"GPRs", 219},
      {"Uniforms", 500},
      {"Scratch", 48},
      {"Threads", 448},
      {"Spills", 8},
      {"Fills", 9}}},
    {"AMDVLK",
     VK_DRIVER_ID_AMD_OPEN_SOURCE,
     64,
     {72, UNKNOWN, UNKNOWN, 128, 8192, UNKNOWN, UNKNOWN, UNKNOWN},
     {{"numUsedVgprs", 72},
      {"numUsedSgprs", 44},
      {"ldsSizePerLocalWorkGroup", 65536},
      {"ldsUsageSizeInBytes", 8192},
      {"scratchMemUsageInBytes", 128},
      {"numAvailableVgprs", 256}}},
    {"AMD's own",
     VK_DRIVER_ID_AMD_PROPRIETARY,
     64,
     {72, UNKNOWN, UNKNOWN, 0, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN},
     {{"numUsedVgprs", 72}, {"scratchMemUsageInBytes", 0}}},
    {"NVIDIA's own",
     VK_DRIVER_ID_NVIDIA_PROPRIETARY,
     32,
     {56, UNKNOWN, UNKNOWN, 48, UNKNOWN, UNKNOWN, 9600, UNKNOWN},
     {{"Register Count", 56}, {"Binary Size", 9600}, {"Stack Size", 16}, {"Local Memory Size", 68719476784.0}}},
    {"ANV",
     VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
     32,
     {58, 4, UNKNOWN, 64, 4096, 812, UNKNOWN, UNKNOWN},
     {{"Max dispatch width", 16},
      {"Instruction Count", 812},
      {"SEND Count", 40},
      {"Loop Count", 2},
      {"Cycle Count", 30000},
      {"Spill Count", 4},
      {"Fill Count", 6},
      {"Scratch Memory Size", 1024},
      {"GRF registers", 128},
      {"Max live registers", 115},
      {"Workgroup Memory Size", 4096},
      {"Source hash", 3.1e9}}},
    {"ANV, newer",
     VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA,
     32,
     {29, 0, UNKNOWN, 0, 0, 500, 7800, UNKNOWN},
     {{"Instructions", 500},
      {"Code size", 7800},
      {"SENDs", 30},
      {"Cycles", 9000},
      {"Spills", 0},
      {"Fills", 0},
      {"Scratch Memory Size", 0},
      {"GRF registers", 128},
      {"Max dispatch width", 32},
      {"Max live registers", 115},
      {"Workgroup Memory Size", 0}}},
    {"lavapipe",
     VK_DRIVER_ID_MESA_LLVMPIPE,
     8,
     {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN},
     {{"", 0}}},
    {"a driver that is not known",
     9999,
     32,
     {UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN},
     {{"VGPRs", 1}, {"Registers used", 2}, {"Instructions", 3}}},
};

static void assert_statistics(const char *what, const vkf_kernel_statistics *is, const vkf_kernel_statistics *expected)
{
#define SAME(field)                   \
    if (is->field != expected->field) \
    fail_msg("%s: " #field " is %lld, expected %lld", what, (long long)is->field, (long long)expected->field)
    SAME(registers);
    SAME(spills);
    SAME(inner_spills);
    SAME(scratch_bytes);
    SAME(shared_bytes);
    SAME(instructions);
    SAME(code_bytes);
    SAME(waves);
#undef SAME
}

static vkf_kernel_statistics normalised(const canned *driver, const vkf_statistic *list, uint32_t count)
{
    vkf__caps caps = rich_caps("canned", VKF_DEVICE_TYPE_DISCRETE);
    vkf_kernel_statistics statistics;
    memset(&statistics, 0x5a, sizeof statistics);
    caps.driver_id = driver->driver_id;
    caps.subgroup_size = driver->subgroup_size;
    vkf__statistics_normalise(&caps, list, count, &statistics);
    return statistics;
}

static void test_statistics_normalise_by_driver(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(drivers); i++) {
        const vkf_kernel_statistics is = normalised(&drivers[i], drivers[i].list, COUNT(drivers[i].list));
        assert_statistics(drivers[i].driver, &is, &drivers[i].expected);
    }
}

static void test_statistics_normalise_nothing_is_unknown(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(drivers); i++) {
        const vkf_kernel_statistics is = normalised(&drivers[i], NULL, 0);
        assert_statistics(drivers[i].driver, &is, &drivers[COUNT(drivers) - 1].expected);
    }
}

static void test_statistics_normalise_executables_are_one(void **state)
{
    (void)state;
    static const vkf_statistic two[] = {
        {"VGPRs", 40},      {"Instructions", 100}, {"Spilled VGPRs", 0},     {"Subgroups per SIMD", 16},
        {"VGPRs", 80},      {"Instructions", 20},  {"Spilled VGPRs", 3},     {"Subgroups per SIMD", 8},
        {"VGPRs", 20},      {"Instructions", 7},   {"Spilled VGPRs", 1},     {"Subgroups per SIMD", 10},
        {"LDS size", 1024}, {"LDS size", 512},     {"Scratch size", 64 * 3}, {"Scratch size", 1},
    };
    const vkf_kernel_statistics expected = {80, 4, UNKNOWN, 3, 1024, 127, UNKNOWN, 8};
    const vkf_kernel_statistics is = normalised(&drivers[0], two, COUNT(two));
    assert_statistics("three executables", &is, &expected);
}

static void test_statistics_normalise_what_is_no_count_is_unknown(void **state)
{
    (void)state;
    static const vkf_statistic odd[] = {
        {"VGPRs", -1}, {"Instructions", 1e300}, {"Spilled VGPRs", (double)NAN}, {"vgprs", 7}, {"Code size ", 7}};
    const vkf_kernel_statistics is = normalised(&drivers[0], odd, COUNT(odd));
    assert_statistics("no counts", &is, &drivers[COUNT(drivers) - 1].expected);
}

// A driver with two executables of the stages below, and two statistics of each: one of every format.
static VkShaderStageFlags executable_stages[2];
static VkResult statistics_result;

static VkResult fake_executables(VkDevice device, const VkPipelineInfoKHR *info, uint32_t *count,
                                 VkPipelineExecutablePropertiesKHR *out)
{
    (void)device;
    assert_int_equal(info->sType, VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR);
    for (uint32_t i = 0; out && i < *count; i++) {
        assert_int_equal(out[i].sType, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR);
        out[i].stages = executable_stages[i];
    }
    *count = 2;
    return VK_SUCCESS;
}

static VkResult fake_statistics(VkDevice device, const VkPipelineExecutableInfoKHR *info, uint32_t *count,
                                VkPipelineExecutableStatisticKHR *out)
{
    static const VkPipelineExecutableStatisticKHR values[2][2] = {
        {{.name = "signed", .format = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR, .value.i64 = -7},
         {.name = "flag", .format = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR, .value.b32 = 5}},
        {{.name = "unsigned", .format = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR, .value.u64 = 1u << 31},
         {.name = "real", .format = VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR, .value.f64 = 0.25}}};
    (void)device;
    for (uint32_t i = 0; out && i < *count; i++) {
        assert_int_equal(out[i].sType, VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR);
        out[i] = values[info->executableIndex][i];
    }
    *count = 2;
    return out ? statistics_result : VK_SUCCESS;
}

static vkf__device fake_device(const vkf__host *host)
{
    vkf__device device = {.host = host};
    device.plan.enabled.pipeline_executable_info = true;
    device.vk.vkGetPipelineExecutablePropertiesKHR = fake_executables;
    device.vk.vkGetPipelineExecutableStatisticsKHR = fake_statistics;
    statistics_result = VK_SUCCESS;
    executable_stages[0] = executable_stages[1] = VK_SHADER_STAGE_COMPUTE_BIT;
    return device;
}

static void test_statistics_read_every_format(void **state)
{
    (void)state;
    static const vkf_statistic expected[] = {{"signed", -7}, {"flag", 1}, {"unsigned", 2147483648.0}, {"real", 0.25}};
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__device device = fake_device(&host);
    vkf_statistic *list = NULL;
    uint32_t count = 0;
    assert_int_equal(vkf__statistics_read(&device, VK_NULL_HANDLE, &list, &count), VKF_OK);
    assert_int_equal(count, COUNT(expected));
    for (size_t i = 0; i < COUNT(expected); i++) {
        assert_string_equal(list[i].name, expected[i].name);
        assert_true(list[i].value == expected[i].value);
    }
    vkf__free(&host, list);
}

static void test_statistics_read_passes_over_other_stages(void **state)
{
    (void)state;
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__device device = fake_device(&host);
    vkf_statistic *list = NULL;
    uint32_t count = 0;
    executable_stages[0] = VK_SHADER_STAGE_VERTEX_BIT;
    assert_int_equal(vkf__statistics_read(&device, VK_NULL_HANDLE, &list, &count), VKF_OK);
    assert_int_equal(count, 2);
    assert_string_equal(list[0].name, "unsigned");
    vkf__free(&host, list);
}

static void test_statistics_read_without_the_extension_gives_none(void **state)
{
    (void)state;
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__device device = fake_device(&host);
    vkf_statistic *list = NULL;
    uint32_t count = 1;
    device.plan.enabled.pipeline_executable_info = false;
    assert_int_equal(vkf__statistics_read(&device, VK_NULL_HANDLE, &list, &count), VKF_OK);
    assert_int_equal(count, 0);
    assert_null(list);
    count = 1;
    device = fake_device(&host);
    device.vk.vkGetPipelineExecutableStatisticsKHR = NULL;
    assert_int_equal(vkf__statistics_read(&device, VK_NULL_HANDLE, &list, &count), VKF_OK);
    assert_int_equal(count, 0);
}

static void test_statistics_read_failure_leaves_outputs(void **state)
{
    (void)state;
    message_record record;
    vkf__host host = recording_host(&record);
    vkf__device device = fake_device(&host);
    vkf_statistic *list = NULL;
    uint32_t count = 77;
    statistics_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    assert_int_equal(vkf__statistics_read(&device, VK_NULL_HANDLE, &list, &count), VKF_ERROR_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(count, 77);
    assert_null(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statistics_normalise_by_driver),
        cmocka_unit_test(test_statistics_normalise_nothing_is_unknown),
        cmocka_unit_test(test_statistics_normalise_executables_are_one),
        cmocka_unit_test(test_statistics_normalise_what_is_no_count_is_unknown),
        cmocka_unit_test(test_statistics_read_every_format),
        cmocka_unit_test(test_statistics_read_passes_over_other_stages),
        cmocka_unit_test(test_statistics_read_without_the_extension_gives_none),
        cmocka_unit_test(test_statistics_read_failure_leaves_outputs),
    };
    return cmocka_run_group_tests_name("statistics", tests, NULL, NULL);
}

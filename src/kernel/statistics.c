#include "kernel/statistics.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

// Values of VkDriverId; the last two are younger than the oldest headers.
enum { DRIVER_RADV = 3, DRIVER_TURNIP = 18, DRIVER_NVK = 24, DRIVER_HONEYKRISP = 26 };

// What is more than this is no count.
#define MAX_VALUE 1e15

// What stands for what, found by running each driver (Mesa 26.2). Several executables of a pipeline are one: their
// instructions and spills add up, of the rest the worst counts.
//
//                  RADV              Turnip             NVK                Honeykrisp          lavapipe
//   registers      VGPRs             Registers used,    Number of GPRs     GPRs, 16-bit        -
//                                    vectors of four
//   spills         Spilled VGPRs     STP Count          Spills to memory   Spills              -
//   inner spills   Spilled SGPRs     -                  Spills to reg      -                   -
//   scratch        Scratch size,     -                  SLM size           Scratch             -
//                  per subgroup
//   shared         LDS size          -                  -                  -                   -
//   instructions   Instructions      Instruction Count  Instruction count  Instructions        -
//   code bytes     Code size         Code size          Code size          Code size           -
//   waves          Subgroups per     Max Waves Per      Max warps/SM       Threads (per core,  -
//                  SIMD              Core                                  invocations)
//
// lavapipe has no VK_KHR_pipeline_executable_properties. Turnip counts stores to private memory, whether they spill
// or belong to an array that found no place in registers: both are slow.
typedef enum value_unit {
    UNIT_ONE = 0,
    UNIT_VECTOR4,      // counts four
    UNIT_HALF,         // two of them count one
    UNIT_PER_SUBGROUP, // of all invocations of a subgroup
    UNIT_INVOCATIONS,  // a subgroup's worth of them counts one
} value_unit;

typedef enum value_combination { TAKE_SUM = 0, TAKE_MAX, TAKE_MIN } value_combination;

typedef struct rule {
    uint32_t driver_id;
    const char *name;
    size_t field; // offset in vkf_kernel_statistics
    value_combination combination;
    value_unit unit;
} rule;

#define RULE(driver, name, field, ...)                                             \
    {                                                                              \
        DRIVER_##driver, name, offsetof(vkf_kernel_statistics, field), __VA_ARGS__ \
    }

static const rule rules[] = {
    RULE(RADV, "VGPRs", registers, TAKE_MAX, UNIT_ONE),
    RULE(RADV, "Spilled VGPRs", spills, TAKE_SUM, UNIT_ONE),
    RULE(RADV, "Spilled SGPRs", inner_spills, TAKE_SUM, UNIT_ONE),
    RULE(RADV, "Scratch size", scratch_bytes, TAKE_MAX, UNIT_PER_SUBGROUP),
    RULE(RADV, "LDS size", shared_bytes, TAKE_MAX, UNIT_ONE),
    RULE(RADV, "Instructions", instructions, TAKE_SUM, UNIT_ONE),
    RULE(RADV, "Code size", code_bytes, TAKE_SUM, UNIT_ONE),
    RULE(RADV, "Subgroups per SIMD", waves, TAKE_MIN, UNIT_ONE),
    RULE(TURNIP, "Registers used", registers, TAKE_MAX, UNIT_VECTOR4),
    RULE(TURNIP, "STP Count", spills, TAKE_SUM, UNIT_ONE),
    RULE(TURNIP, "Instruction Count", instructions, TAKE_SUM, UNIT_ONE),
    RULE(TURNIP, "Code size", code_bytes, TAKE_SUM, UNIT_ONE),
    RULE(TURNIP, "Max Waves Per Core", waves, TAKE_MIN, UNIT_ONE),
    RULE(NVK, "Number of GPRs", registers, TAKE_MAX, UNIT_ONE),
    RULE(NVK, "Spills to memory", spills, TAKE_SUM, UNIT_ONE),
    RULE(NVK, "Spills to reg", inner_spills, TAKE_SUM, UNIT_ONE),
    RULE(NVK, "SLM size", scratch_bytes, TAKE_MAX, UNIT_ONE),
    RULE(NVK, "Instruction count", instructions, TAKE_SUM, UNIT_ONE),
    RULE(NVK, "Code size", code_bytes, TAKE_SUM, UNIT_ONE),
    RULE(NVK, "Max warps/SM", waves, TAKE_MIN, UNIT_ONE),
    RULE(HONEYKRISP, "GPRs", registers, TAKE_MAX, UNIT_HALF),
    RULE(HONEYKRISP, "Spills", spills, TAKE_SUM, UNIT_ONE),
    RULE(HONEYKRISP, "Scratch", scratch_bytes, TAKE_MAX, UNIT_ONE),
    RULE(HONEYKRISP, "Instructions", instructions, TAKE_SUM, UNIT_ONE),
    RULE(HONEYKRISP, "Code size", code_bytes, TAKE_SUM, UNIT_ONE),
    RULE(HONEYKRISP, "Threads", waves, TAKE_MIN, UNIT_INVOCATIONS),
};

static int64_t in_units(double value, value_unit unit, uint32_t subgroup_size)
{
    const int64_t whole = (int64_t)value, lanes = subgroup_size > 0 ? subgroup_size : 1;
    switch (unit) {
    case UNIT_VECTOR4:
        return 4 * whole;
    case UNIT_HALF:
        return (whole + 1) / 2;
    case UNIT_PER_SUBGROUP:
        return (whole + lanes - 1) / lanes;
    case UNIT_INVOCATIONS:
        return whole / lanes;
    case UNIT_ONE:
        break;
    }
    return whole;
}

static int64_t combine(int64_t before, int64_t value, value_combination combination)
{
    if (before == VKF_STATISTIC_UNKNOWN)
        return value;
    if (combination == TAKE_SUM)
        return before + value;
    return (combination == TAKE_MAX) == (value > before) ? value : before;
}

void vkf__statistics_normalise(const vkf__caps *caps, const vkf_statistic *list, uint32_t count,
                               vkf_kernel_statistics *out_statistics)
{
    vkf_kernel_statistics result = {
        VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN,
        VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN,
    };
    for (uint32_t i = 0; i < count; i++) {
        for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
            bool applies = rules[r].driver_id == caps->driver_id && strcmp(rules[r].name, list[i].name) == 0;
            if (!applies || !(list[i].value >= 0) || list[i].value > MAX_VALUE)
                continue;
            int64_t *field = (int64_t *)(void *)((char *)&result + rules[r].field);
            *field = combine(*field, in_units(list[i].value, rules[r].unit, caps->subgroup_size), rules[r].combination);
        }
    }
    *out_statistics = result;
}

static double value_of(const VkPipelineExecutableStatisticKHR *statistic)
{
    switch (statistic->format) {
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR:
        return statistic->value.b32 != VK_FALSE;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR:
        return (double)statistic->value.i64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR:
        return (double)statistic->value.u64;
    case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR:
        return statistic->value.f64;
    default:
        return 0;
    }
}

typedef struct statistic_list {
    void *items;
    size_t count;
    size_t capacity;
} statistic_list;

static vkf_status append(const vkf__host *host, const VkPipelineExecutableStatisticKHR *from, uint32_t count,
                         statistic_list *list)
{
    vkf_status status = VKF_OK;
    VKF_TRY(vkf__grow(host, &list->items, sizeof(vkf_statistic), list->count, &list->capacity, list->count + count));
    vkf_statistic *items = list->items;
    for (uint32_t i = 0; i < count; i++) {
        vkf_statistic *item = &items[list->count++];
        (void)snprintf(item->name, sizeof item->name, "%.*s", (int)sizeof item->name - 1, from[i].name);
        item->value = value_of(&from[i]);
    }
fail:
    return status;
}

static vkf_status read_executable(vkf__device *device, VkPipeline pipeline, uint32_t index, statistic_list *list)
{
    vkf_status status = VKF_OK;
    VkPipelineExecutableStatisticKHR *statistics = NULL;
    const VkPipelineExecutableInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR,
        .pipeline = pipeline,
        .executableIndex = index,
    };
    uint32_t count = 0;
    VKF_VK(device, device->vk.vkGetPipelineExecutableStatisticsKHR(device->handle, &info, &count, NULL));
    if (count == 0)
        goto fail;
    VKF_ALLOC(device->host, statistics, count);
    for (uint32_t i = 0; i < count; i++)
        statistics[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    VKF_VK(device, device->vk.vkGetPipelineExecutableStatisticsKHR(device->handle, &info, &count, statistics));
    VKF_TRY(append(device->host, statistics, count, list));
fail:
    vkf__free(device->host, statistics);
    return status;
}

vkf_status vkf__statistics_read(vkf__device *device, VkPipeline pipeline, vkf_statistic **out_list, uint32_t *out_count)
{
    vkf_status status = VKF_OK;
    VkPipelineExecutablePropertiesKHR *executables = NULL;
    statistic_list list = {0};
    const VkPipelineInfoKHR info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR, .pipeline = pipeline};
    uint32_t count = 0;
    bool known = device->plan.enable_executable_info && device->vk.vkGetPipelineExecutablePropertiesKHR &&
                 device->vk.vkGetPipelineExecutableStatisticsKHR;
    if (known)
        VKF_VK(device, device->vk.vkGetPipelineExecutablePropertiesKHR(device->handle, &info, &count, NULL));
    if (count > 0)
        VKF_ALLOC(device->host, executables, count);
    for (uint32_t i = 0; i < count; i++)
        executables[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR;
    if (count > 0)
        VKF_VK(device, device->vk.vkGetPipelineExecutablePropertiesKHR(device->handle, &info, &count, executables));
    for (uint32_t i = 0; i < count; i++) {
        if (executables[i].stages & VK_SHADER_STAGE_COMPUTE_BIT)
            VKF_TRY(read_executable(device, pipeline, i, &list));
    }
    *out_list = list.items;
    *out_count = (uint32_t)list.count;
    list.items = NULL;
fail:
    vkf__free(device->host, list.items);
    vkf__free(device->host, executables);
    return status;
}

// Translates drivers' pipeline statistics to names and units that all drivers share.
#include "kernel/statistics.h"

#include <stddef.h>
#include <string.h>

// Values of VkDriverId. The last two are missing from the oldest headers.
enum {
    DRIVER_AMD = 1, // AMD's own
    DRIVER_AMDVLK = 2,
    DRIVER_RADV = 3,
    DRIVER_NVIDIA = 4, // NVIDIA's own
    DRIVER_ANV = 6,
    DRIVER_TURNIP = 18,
    DRIVER_PANVK = 20,
    DRIVER_NVK = 24,
    DRIVER_HONEYKRISP = 26
};

// A value above this is not a count.
#define MAX_VALUE 1e15

// docs/shaders.md has this as a table and says which drivers were seen running. Several executables of a pipeline are
// reported as one: instructions and spills add up, and of the rest the worst is taken. Turnip counts stores to private
// memory, whether they spill or belong to an array that did not fit into registers. Both are slow. NVIDIA's local
// memory comes with 16 in the upper half of its 64 bits (580.159, H200).
typedef enum value_unit {
    UNIT_ONE = 0,
    UNIT_VECTOR4,      // one of them stands for four
    UNIT_HALF,         // two of them stand for one
    UNIT_PER_SUBGROUP, // summed over all invocations of a subgroup
    UNIT_INVOCATIONS,  // a subgroup's worth of them stands for one
    UNIT_32_BYTES,     // eight words, summed over all invocations of a subgroup
    UNIT_LOW_BITS,     // the lower 32 bits alone count
} value_unit;

typedef enum value_combination { TAKE_SUM = 0, TAKE_MAX, TAKE_MIN } value_combination;

// Names are arrays: pointers to them would take as much space again in the library's archive.
typedef struct rule {
    char name[24];
    uint8_t driver_id;
    uint8_t field; // offset in vkf_kernel_statistics
    uint8_t combination;
    uint8_t unit;
} rule;

// clang-format off
#define RULE(driver, name, field, ...) {name, DRIVER_##driver, offsetof(vkf_kernel_statistics, field), __VA_ARGS__}
// clang-format on

static const rule rules[] = {
    RULE(RADV, "VGPRs", registers, TAKE_MAX, UNIT_ONE),
    RULE(RADV, "Spilled VGPRs", spills, TAKE_SUM, UNIT_ONE),
    RULE(RADV, "Spilled SGPRs", inner_spills, TAKE_SUM, UNIT_ONE),
    RULE(RADV, "Scratch size", scratch_bytes, TAKE_MAX, UNIT_PER_SUBGROUP),
    RULE(RADV, "LDS size", shared_bytes, TAKE_MAX, UNIT_ONE),
    RULE(RADV, "Instructions", instructions, TAKE_SUM, UNIT_ONE),
    RULE(RADV, "Code size", code_bytes, TAKE_SUM, UNIT_ONE),
    RULE(RADV, "Subgroups per SIMD", waves, TAKE_MIN, UNIT_ONE),
    RULE(AMDVLK, "numUsedVgprs", registers, TAKE_MAX, UNIT_ONE),
    RULE(AMDVLK, "ldsUsageSizeInBytes", shared_bytes, TAKE_MAX, UNIT_ONE),
    RULE(AMDVLK, "scratchMemUsageInBytes", scratch_bytes, TAKE_MAX, UNIT_ONE),
    RULE(NVIDIA, "Register Count", registers, TAKE_MAX, UNIT_ONE),
    RULE(NVIDIA, "Stack Size", scratch_bytes, TAKE_MAX, UNIT_ONE),
    RULE(NVIDIA, "Local Memory Size", scratch_bytes, TAKE_MAX, UNIT_LOW_BITS),
    RULE(NVIDIA, "Binary Size", code_bytes, TAKE_SUM, UNIT_ONE),
    RULE(ANV, "Max live registers", registers, TAKE_MAX, UNIT_32_BYTES),
    RULE(ANV, "Spill Count", spills, TAKE_SUM, UNIT_ONE),
    RULE(ANV, "Spills", spills, TAKE_SUM, UNIT_ONE), // its newer name, as with instructions
    RULE(ANV, "Scratch Memory Size", scratch_bytes, TAKE_MAX, UNIT_PER_SUBGROUP),
    RULE(ANV, "Workgroup Memory Size", shared_bytes, TAKE_MAX, UNIT_ONE),
    RULE(ANV, "Instruction Count", instructions, TAKE_SUM, UNIT_ONE),
    RULE(ANV, "Instructions", instructions, TAKE_SUM, UNIT_ONE),
    RULE(ANV, "Code size", code_bytes, TAKE_SUM, UNIT_ONE),
    RULE(TURNIP, "Registers used", registers, TAKE_MAX, UNIT_VECTOR4),
    RULE(TURNIP, "STP Count", spills, TAKE_SUM, UNIT_ONE),
    RULE(TURNIP, "Instruction Count", instructions, TAKE_SUM, UNIT_ONE),
    RULE(TURNIP, "Code size", code_bytes, TAKE_SUM, UNIT_ONE),
    RULE(TURNIP, "Max Waves Per Core", waves, TAKE_MIN, UNIT_ONE),
    RULE(PANVK, "Registers used", registers, TAKE_MAX, UNIT_ONE),
    RULE(PANVK, "Spills", spills, TAKE_SUM, UNIT_ONE),
    RULE(PANVK, "Instructions", instructions, TAKE_SUM, UNIT_ONE),
    RULE(PANVK, "Code size", code_bytes, TAKE_SUM, UNIT_ONE),
    RULE(PANVK, "Threads", waves, TAKE_MIN, UNIT_ONE),
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

static int64_t in_units(double value, value_unit unit, uint32_t invocations)
{
    const int64_t whole = (int64_t)value, lanes = invocations > 0 ? invocations : 1;
    switch (unit) {
    case UNIT_VECTOR4:
        return 4 * whole;
    case UNIT_HALF:
        return (whole + 1) / 2;
    case UNIT_PER_SUBGROUP:
        return (whole + lanes - 1) / lanes;
    case UNIT_INVOCATIONS:
        return whole / lanes;
    case UNIT_32_BYTES:
        return (8 * whole + lanes - 1) / lanes;
    case UNIT_LOW_BITS:
        return whole & UINT32_MAX;
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

// Intel compiles for 8, 16 or 32 invocations, whatever subgroup size the device reports.
static uint32_t subgroup_size(const vkf__caps *caps, const vkf_statistic *list, uint32_t count)
{
    for (uint32_t i = 0; i < count && caps->driver_id == DRIVER_ANV; i++) {
        if (strcmp(list[i].name, "Max dispatch width") == 0 && list[i].value >= 1 && list[i].value <= 32)
            return (uint32_t)list[i].value;
    }
    return caps->subgroup_size;
}

void vkf__statistics_normalise(const vkf__caps *caps, const vkf_statistic *list, uint32_t count,
                               vkf_kernel_statistics *out_statistics)
{
    vkf_kernel_statistics result = {
        VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN,
        VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN, VKF_STATISTIC_UNKNOWN,
    };
    const uint32_t driver_id = caps->driver_id == DRIVER_AMD ? DRIVER_AMDVLK : caps->driver_id; // one source
    const uint32_t lanes = subgroup_size(caps, list, count);
    for (uint32_t i = 0; i < count; i++) {
        for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
            bool applies = rules[r].driver_id == driver_id && strcmp(rules[r].name, list[i].name) == 0;
            if (!applies || !(list[i].value >= 0) || list[i].value > MAX_VALUE)
                continue;
            int64_t *field = (int64_t *)(void *)((char *)&result + rules[r].field);
            *field = combine(*field, in_units(list[i].value, rules[r].unit, lanes), rules[r].combination);
        }
    }
    *out_statistics = result;
}

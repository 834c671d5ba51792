// Adds the rounding mode of 16-bit floats to a module.
#include "kernel/spirv_rounding.h"

#include <string.h>

// Numbers of the SPIR-V specification, which glslang's headers have, but not those of Vulkan.
enum {
    HEADER_WORDS = 5,
    OP_EXTENSION = 10,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_FLOAT = 22,
    CAPABILITY_ROUNDING_MODE_RTE = 4467,
    MODE_ROUNDING_MODE_RTE = 4462,
};

static const char extension_name[24] = "SPV_KHR_float_controls"; // in whole words, with the zero at its end

enum {
    CAPABILITY_WORDS = 2,
    EXTENSION_WORDS = 1 + sizeof extension_name / 4,
    MODE_WORDS = 4,
    MAX_MODES_WORDS = 2 * MODE_WORDS,
    MAX_ADDED_WORDS = CAPABILITY_WORDS + EXTENSION_WORDS + MAX_MODES_WORDS,
};

static uint32_t first_word(uint32_t words, uint32_t op)
{
    return words << 16 | op;
}

// Where what is added belongs: the mode follows the entry point.
typedef struct places {
    size_t after_capabilities;
    size_t after_entry_point;
    uint32_t entry_point;
} places;

// False: the module has no 16-bit floats, or ends within an instruction.
static bool find_places(const uint32_t *words, size_t count, places *out_places)
{
    bool halves = false;
    *out_places = (places){0};
    for (size_t at = HEADER_WORDS; at < count;) {
        size_t length = words[at] >> 16;
        uint32_t op = words[at] & 0xffff;
        if (length == 0 || length > count - at)
            return false;
        if (op == OP_CAPABILITY)
            out_places->after_capabilities = at + length;
        if (op == OP_ENTRY_POINT && length > 2) {
            out_places->after_entry_point = at + length;
            out_places->entry_point = words[at + 2];
        }
        // Without a third operand: bfloat16 has one, and no rounding mode.
        halves = halves || (op == OP_TYPE_FLOAT && length == 3 && words[at + 2] == 16);
        at += length;
    }
    return halves && out_places->after_capabilities > 0 && out_places->after_entry_point > 0;
}

static size_t copy_words(uint32_t *to, size_t used, const uint32_t *from, size_t count)
{
    memcpy(to + used, from, 4 * count);
    return used + count;
}

vkf_status vkf__spirv_round_to_even(const vkf__host *host, bool all_widths, uint32_t **words, size_t *size_bytes)
{
    const size_t count = *size_bytes / 4;
    places p;
    if (!find_places(*words, count, &p))
        return VKF_OK;
    const uint32_t capability[CAPABILITY_WORDS] = {first_word(CAPABILITY_WORDS, OP_CAPABILITY),
                                                   CAPABILITY_ROUNDING_MODE_RTE};
    const uint32_t mode = first_word(MODE_WORDS, OP_EXECUTION_MODE);
    const uint32_t modes[MAX_MODES_WORDS] = {mode, p.entry_point, MODE_ROUNDING_MODE_RTE, 16,
                                             mode, p.entry_point, MODE_ROUNDING_MODE_RTE, 32};
    uint32_t extension[EXTENSION_WORDS] = {first_word(EXTENSION_WORDS, OP_EXTENSION)};
    memcpy(extension + 1, extension_name, sizeof extension_name);
    uint32_t *changed = NULL;
    VKF_ALLOC_OR_RETURN(host, changed, count + MAX_ADDED_WORDS);
    size_t used = copy_words(changed, 0, *words, p.after_capabilities);
    used = copy_words(changed, used, capability, CAPABILITY_WORDS);
    used = copy_words(changed, used, extension, EXTENSION_WORDS);
    used = copy_words(changed, used, *words + p.after_capabilities, p.after_entry_point - p.after_capabilities);
    used = copy_words(changed, used, modes, all_widths ? MAX_MODES_WORDS : MODE_WORDS);
    used = copy_words(changed, used, *words + p.after_entry_point, count - p.after_entry_point);
    vkf__free(host, *words);
    *words = changed;
    *size_bytes = 4 * used;
    return VKF_OK;
}

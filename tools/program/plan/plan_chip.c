// Opens descriptions of chips, and reads the numbers that Vulkan does not tell.
#include "plan/plan_chip.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/described_device.h"
#include "command/embedded_chips.h"
#include "command/options.h"
#include "output/json_output.h"
#include "output/visible_text.h"

// X(member, unit, required): the members of "speed" in the object "vkformer" of a description.
#define SPEED_MEMBERS(X)                   \
    X(cores, "", true)                     \
    X(memory_bytes_per_s, "bytes/s", true) \
    X(f32_flops, "flop/s", true)           \
    X(f16_flops, "flop/s", true)           \
    X(matrix_flops, "flop/s", false)       \
    X(matrix_f16_flops, "flop/s", false)   \
    X(dot_ops, "op/s", true)               \
    X(latency_s, "s", true)                \
    X(barrier_s, "s", true)                \
    X(submit_s, "s", true)                 \
    X(invocations_per_core, "", true)      \
    X(shared_bytes_per_core, "bytes", true)

static const struct speed_member {
    const char *name, *unit;
    size_t offset;
    bool required;
} speed_members[] = {
#define ROW(member, unit, required) {#member, unit, offsetof(vkf_chip_speed, member), required},
    SPEED_MEMBERS(ROW)
#undef ROW
};

#define SPEED_MEMBER_COUNT (sizeof speed_members / sizeof speed_members[0])

static const json_t *speed_of(const vkf_plan_chip *chip)
{
    return json_object_get(json_object_get(chip->root, "vkformer"), "speed");
}

static bool read_member(const vkf_plan_chip *chip, const struct speed_member *member, double *out)
{
    const json_t *entry = json_object_get(speed_of(chip), member->name);
    const json_t *value = json_object_get(entry, "value");
    if (!entry && !member->required)
        return true;
    // Nothing of a device is larger than 10^18 or, but for matrix units that are not there, 0.
    if (!json_is_number(value) || !(json_number_value(value) >= 0) || json_number_value(value) > 1e18 ||
        (member->required && json_number_value(value) < 1e-12) || !json_is_string(json_object_get(entry, "source"))) {
        vkf_print_error("%s: '%s' of 'speed' must have a positive number 'value' and a text 'source'", chip->name,
                        member->name);
        return false;
    }
    *out = json_number_value(value);
    return true;
}

// A description without speeds says which kernels run, and not how fast.
static bool read_speed(vkf_plan_chip *chip)
{
    if (!speed_of(chip))
        return true;
    for (size_t i = 0; i < SPEED_MEMBER_COUNT; i++) {
        double *out = (double *)(void *)((char *)&chip->speed + speed_members[i].offset);
        if (!read_member(chip, &speed_members[i], out))
            return false;
    }
    chip->has_speed = true;
    return true;
}

bool vkf_plan_chip_open(const char *name, vkf_plan_chip *out_chip)
{
    *out_chip = (vkf_plan_chip){.name = name};
    return vkf_open_chip(name, &out_chip->device, &out_chip->root) && read_speed(out_chip);
}

void vkf_plan_chip_free(vkf_plan_chip *chip)
{
    vkf_device_description_destroy(&chip->device);
    json_decref(chip->root);
    *chip = (vkf_plan_chip){0};
}

void vkf_plan_chip_assumptions(const vkf_plan_chip *chip, vkf_plan_assumption_fn visit, void *user)
{
    for (size_t i = 0; chip->has_speed && i < SPEED_MEMBER_COUNT; i++) {
        const json_t *entry = json_object_get(speed_of(chip), speed_members[i].name);
        if (entry)
            visit(user, speed_members[i].name, json_number_value(json_object_get(entry, "value")),
                  speed_members[i].unit, json_string_value(json_object_get(entry, "source")));
    }
}

const char *vkf_plan_chip_name(size_t index)
{
    return index < VKF_EMBEDDED_CHIP_COUNT ? vkf_embedded_chips[index].name : NULL;
}

static const char *label_of(const json_t *root)
{
    json_t *profiles = json_object_get(root, "profiles");
    const char *label = json_string_value(json_object_get(json_object_iter_value(json_object_iter(profiles)), "label"));
    return label ? label : "";
}

bool vkf_plan_list_chips(bool json)
{
    json_t *list = json_array();
    for (size_t i = 0; i < VKF_EMBEDDED_CHIP_COUNT; i++) {
        json_t *root = json_loadb(vkf_embedded_chips[i].text, vkf_embedded_chips[i].bytes, VKF_CHIP_NUMBERS, NULL);
        json_t *entry = json_object();
        vkf_json_put_string(entry, "chip", vkf_embedded_chips[i].name);
        vkf_json_put_string(entry, "device", label_of(root));
        if (!json)
            vkf_print("%-12s %s\n", vkf_embedded_chips[i].name, label_of(root));
        json_array_append_new(list, entry);
        json_decref(root);
    }
    if (json)
        return vkf_print_json(list);
    json_decref(list);
    return true;
}

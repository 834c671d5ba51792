// A chip on the command line: one of those that the program knows, or a file.
#ifndef VKF_PROGRAM_PLAN_CHIP_H
#define VKF_PROGRAM_PLAN_CHIP_H

#include <jansson.h>
#include <vkformer/vkformer.h>

#include "plan/plan_estimate.h"

typedef struct vkf_plan_chip {
    const char *name; // as given
    vkf_device_description *device;
    bool has_speed;
    vkf_chip_speed speed;
    json_t *root; // the whole description
} vkf_plan_chip;

// Opens a chip by its name or, where it has a slash or ends in .json, by its path; #PROFILE may follow a path. False
// after a message. Free it in either case.
bool vkf_plan_chip_open(const char *name, vkf_plan_chip *out_chip);
void vkf_plan_chip_free(vkf_plan_chip *chip);

// The names of the chips that the program knows, in order; NULL at their end.
const char *vkf_plan_chip_name(size_t index);

// Prints the chips that the program knows, one per line, with what each is.
bool vkf_plan_list_chips(bool json);

// What is assumed of the chip, with its source: calls `visit` for each number. The unit is "" where it is a plain one.
typedef void (*vkf_plan_assumption_fn)(void *user, const char *key, double value, const char *unit, const char *source);
void vkf_plan_chip_assumptions(const vkf_plan_chip *chip, vkf_plan_assumption_fn visit, void *user);

#endif

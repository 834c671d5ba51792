// The cases that stand beside the operators, run for every kernel that a device takes.
#ifndef VKF_PROGRAM_EVAL_OPERATORS_H
#define VKF_PROGRAM_EVAL_OPERATORS_H

#include <vkformer/vkformer.h>

#include "output/rows.h"

typedef struct vkf_operator_cases {
    const char *name; // of an operator, the beginning of a kernel's, or "all"
    uint32_t draws;   // cases with drawn sizes and flags, beside the edge shapes
    uint32_t seed;
    vkf_rows_format format;
} vkf_operator_cases;

// False after a message: there is no operator or kernel of that name.
bool vkf_operator_cases_exist(const char *name);

// Prints a row per kernel and config. Gives an exit code: VKF_EXIT_BEYOND where one is wrong.
int vkf_eval_operators(vkf_context *context, const vkf_operator_cases *cases);

#endif

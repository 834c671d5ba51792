// Kernels compared with their operators' references, on the cases that stand beside the operators.
#ifndef VKF_PROGRAM_EVAL_OPERATORS_H
#define VKF_PROGRAM_EVAL_OPERATORS_H

#include "lab/cases/operator_cases.h"

// Prints a row per kernel and config. Gives an exit code: VKF_EXIT_BEYOND where one is wrong.
int vkf_eval_operators(vkf_context *context, const vkf_operator_cases *cases);

#endif

// A model on every chip that the program knows: a line for each.
#ifndef VKF_PROGRAM_PLAN_TABLE_H
#define VKF_PROGRAM_PLAN_TABLE_H

#include "plan/plan_make.h"

// The request has no chip. False after a message.
bool vkf_plan_print_table(const vkf_common_options *common, const vkf_plan_request *request, bool json);

#endif

// What is known of kernels on a device from earlier runs.
#ifndef VKF_PROGRAM_VERDICT_LIST_H
#define VKF_PROGRAM_VERDICT_LIST_H

#include <jansson.h>

#include <vkformer/vkformer.h>

// Prints how many variants have which verdict, and a line for each with a reason, or `all`.
void vkf_print_verdicts(vkf_context *context, bool all);
// NULL when memory is exhausted.
json_t *vkf_verdicts_json(vkf_context *context);

#endif

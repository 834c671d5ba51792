// Runs the references of operators on arrays, for tests against numbers that were worked out by hand: an emitter gets
// its arguments for a device that is only described, and what it dispatches is executed on the host.
#ifndef VKF_TESTS_SUPPORT_BY_HAND_H
#define VKF_TESTS_SUPPORT_BY_HAND_H

#include "op/host_run.h"

// For cmocka_run_group_tests().
int vkf_hand_setup(void **state);
int vkf_hand_teardown(void **state);

// An operand with these values; absent where they are NULL. The first one behind a run forgets the operands before it.
vkf__span vkf_hand_operand(vkf_dtype dtype, const void *values, size_t count);

// Runs the emitter of an operator, which has to succeed.
void vkf_hand_run(vkf__op op, const void *args);

// Copies what an operand holds after a run.
void vkf_hand_read(const vkf__span *span, void *out_values);

#endif

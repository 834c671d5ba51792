// Which kernel a call takes for an operator, whatever it dispatches besides: vkf_context_get_last_op_kernel() names the
// last dispatch, which sums up parts where the call was cut into some.
#ifndef VKF_TESTS_TAKEN_KERNEL_H
#define VKF_TESTS_TAKEN_KERNEL_H

#include "kernel/context.h"
#include "kernel/op.h"

// Skips the test where the device does not take the variant.
void vkf_test_skip_unless_supported(const vkf_context *context, const char *variant);

// Watches the calls of the context for kernels of the operator, until vkf_test_unwatch_kernels(). One context at a
// time.
void vkf_test_watch_kernels(vkf_context *context, vkf__op op);
void vkf_test_unwatch_kernels(vkf_context *context);

// The last that was seen; a null variant, and "no kernel", where none was.
vkf__variant vkf_test_taken_variant(void);
const char *vkf_test_taken_kernel(void);

#endif

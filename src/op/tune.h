// The search for the fastest variant of a matrix product with a weight.
#ifndef VKF_OP_TUNE_H
#define VKF_OP_TUNE_H

#include <vkformer/tune.h>

#include "kernel/context.h"

#define VKF_TUNE_TIME_CAP_NS UINT64_C(20000000000)

// One problem. `deadline_ns` is of vkf__now_ns(); `keep_going(user, what)` (may be NULL) is asked before every
// measurement. Statuses: CANCELLED, and those of running the candidates. *out_result is filled in either way; entries
// found are kept.
VKF_MUST_CHECK vkf_status vkf__tune_linear(vkf_context *context, const vkf_tune_problem *problem, double deadline_ns,
                                           bool (*keep_going)(void *user, const char *what), void *user,
                                           vkf_tune_result *out_result);

// A vkf__first_use_fn: measures a weight's shape for a class of rows that has no entry yet, while the context's time for
// that lasts. In a plan only weights that vkf__tune_weight() has measured count, since other products look alike.
vkf_status vkf__tune_first_use(vkf_context *context, vkf__op op, const vkf_dtype *types, const vkf__problem *problem);

// The same when a weight (n, k) is about to be loaded, for the class that its layout is chosen by.
VKF_MUST_CHECK vkf_status vkf__tune_weight(vkf_context *context, const vkf_dtype types[3], uint32_t n, uint32_t k);

#endif

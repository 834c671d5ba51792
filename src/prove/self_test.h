// The on-device self-test: a variant is run on small shapes at the edges of its tiles and compared with the reference
// before it is used for the first time on a device and driver.
#ifndef VKF_PROVE_SELF_TEST_H
#define VKF_PROVE_SELF_TEST_H

#include "kernel/context.h"

// Of one dispatch on an edge shape, which takes microseconds where all is well. A GPU that takes longer is soon reset by
// its driver; a processor is not, shares its cores with others, and may be slow without harm.
#define VKF_SELF_TEST_BUDGET_NS UINT64_C(500000000)
#define VKF_SELF_TEST_BUDGET_PROCESSOR_NS UINT64_C(5000000000)

// How often a variant must match on every shape before the tuner lets it win: some drivers are wrong now and then. On a
// costly shape fewer times, where it takes longer than a second.
#define VKF_SELF_TEST_PROOFS 60u

// A vkf__self_test_fn. The verdict is kept; a bad one is told through the message callback, with variant, shape, and
// what came out in place of what. Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, FILE and SHADER (of a shader_dir),
// DEVICE_LOST.
vkf_status vkf__self_test(vkf_context *context, const vkf__variant *variant, vkf__verdict *out_verdict);

// Whether to go on; asked between the runs of a test.
typedef bool (*vkf__keep_going_fn)(void *user);

// The same, unless keep_going(user) says no: then the verdict is as it was.
VKF_MUST_CHECK vkf_status vkf__self_test_within(vkf_context *context, const vkf__variant *variant,
                                                vkf__keep_going_fn keep_going, void *user, vkf__verdict *out_verdict);
// The same until the variant has matched VKF_SELF_TEST_PROOFS times.
VKF_MUST_CHECK vkf_status vkf__self_test_prove(vkf_context *context, const vkf__variant *variant,
                                               vkf__keep_going_fn keep_going, void *user, vkf__verdict *out_verdict);

// Whether there are edge shapes for an operator; variants of one without them pass untested, and *out_why says why.
bool vkf__self_test_covers(vkf__op op, const char **out_why);

#endif

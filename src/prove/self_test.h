// The on-device self-test. Before a variant is used for the first time on a device and driver, it runs on small shapes
// at the edges of its tiles, and its results are compared with the reference.
#ifndef VKF_PROVE_SELF_TEST_H
#define VKF_PROVE_SELF_TEST_H

#include "kernel/context.h"

// The time that one dispatch on an edge shape may take. Microseconds are usual, and a GPU that takes longer than this
// is soon reset by its driver. A processor is not reset, shares its cores with other programs, and may be slow without
// harm.
#define VKF_SELF_TEST_BUDGET_NS UINT64_C(500000000)
#define VKF_SELF_TEST_BUDGET_PROCESSOR_NS UINT64_C(5000000000)

// How often a variant must match on every shape before the tuner lets it win, because some drivers are wrong only now
// and then. A costly shape is not repeated any more once it has taken a second.
#define VKF_SELF_TEST_PROOFS 60u

// Tests a variant and keeps the verdict. A bad verdict is reported through the message callback, with the variant, the
// shape, and the actual and the expected value. Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, FILE and SHADER (of
// a shader_dir), DEVICE_LOST.
vkf_status vkf__self_test(vkf_context *context, const vkf__variant *variant, vkf__verdict *out_verdict);

// The same with the specialisation constants with which the variant is about to be used, so that the pipelines that are
// tested are those that run. `spec` holds VKF_KERNEL_MAX_SPEC values. `compiled`: the driver was given all that
// vkf__self_test_pipelines() tells; else it compiles what the test needs, as far as it is not there. Statuses: also
// CANCELLED.
VKF_MUST_CHECK vkf_status vkf__self_test_with(vkf_context *context, const vkf__variant *variant, const uint32_t *spec,
                                              bool compiled, vkf__verdict *out_verdict);
// Whether it tests anything: the variant has no verdict, or has a good one and was not tested with these constants.
bool vkf__self_test_due(vkf_context *context, const vkf__variant *variant, const uint32_t *spec);
// Adds the pipelines that it needs, except on processors, whose drivers compile when a kernel first runs.
VKF_MUST_CHECK vkf_status vkf__self_test_pipelines(vkf_context *context, const vkf__variant *variant,
                                                   const uint32_t *spec, vkf__pipeline_wants *wants);

// Whether to go on. It is asked between the runs of a test.
typedef bool (*vkf__keep_going_fn)(void *user);

// The same, until keep_going(user) says no. A test that is stopped leaves the verdict as it was.
VKF_MUST_CHECK vkf_status vkf__self_test_within(vkf_context *context, const vkf__variant *variant,
                                                vkf__keep_going_fn keep_going, void *user, vkf__verdict *out_verdict);
// The same, but the variant is PROVEN only once it has matched VKF_SELF_TEST_PROOFS times.
VKF_MUST_CHECK vkf_status vkf__self_test_prove(vkf_context *context, const vkf__variant *variant,
                                               vkf__keep_going_fn keep_going, void *user, vkf__verdict *out_verdict);

// Whether an operator has edge shapes; variants of one without them pass untested. *out_why gets a static reason either
// way.
bool vkf__self_test_covers(vkf__op op, const char **out_why);

#endif

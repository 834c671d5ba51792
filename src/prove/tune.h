// Finds the fastest kernels for products with a weight and for attention.
#ifndef VKF_PROVE_TUNE_H
#define VKF_PROVE_TUNE_H

#include "prove/tune_search.h"

// How long a context tunes on first use, and a call of the tuner without a cap of its own.
#define VKF_TUNE_TIME_CAP_NS UINT64_C(20000000000)

static inline vkf__op vkf__tune_op(const vkf_tune_problem *problem)
{
    return problem->kind == VKF_TUNE_LINEAR ? VKF_OP_GEMM : VKF_OP_ATTENTION;
}

// The problem as kernel selection sees it, and the types that kernels are chosen by. A product has its b in rows or in
// panels; for attention `panels` makes no difference.
vkf__problem vkf__tune_problem_of(const vkf_context *context, const vkf_tune_problem *problem, bool panels,
                                  vkf_dtype out_types[VKF_KERNEL_MAX_TYPES]);

// Calls `use` with a problem stated for the device's kernels, and with operands to run it on, which live until it
// returns. Statuses: OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, TOO_LARGE, and those of `use`.
typedef vkf_status (*vkf__tune_use_fn)(vkf_context *context, const vkf__tune_subject *subject, void *user);
VKF_MUST_CHECK vkf_status vkf__tune_with_operands(vkf_context *context, const vkf_tune_problem *problem,
                                                  vkf__tune_use_fn use, void *user);

// Tunes one problem, see vkf__tune_search().
VKF_MUST_CHECK vkf_status vkf__tune_one(vkf_context *context, const vkf_tune_problem *problem,
                                        const vkf__tune_limits *limits, vkf_tune_result *out_result);

// Tunes problems in their order, and saves the results. The elements of `out_results` have
// `result_bytes` bytes. A problem too large for the device is left out with a warning.
VKF_MUST_CHECK vkf_status vkf__tune_problems(vkf_context *context, const vkf_tune_problem *problems, uint32_t count,
                                             const vkf_tune_options *options, vkf_tune_result *out_results,
                                             size_t result_bytes);

// See vkf_tune_explain().
VKF_MUST_CHECK vkf_status vkf__tune_explain(vkf_context *context, const vkf_tune_problem *problem, vkf_choice_fn visit,
                                            void *user);

// Measures a problem of a plan that has no entry yet, while the context's time for that lasts: attention, or a product
// for its class of rows. A product counts only if vkf__tune_weight() has measured its weight, because in a plan other
// products look the same. *out_learned: whether there is an entry now that was not there before.
VKF_MUST_CHECK vkf_status vkf__tune_first_use(vkf_context *context, vkf__op op, const vkf_dtype *types,
                                              const vkf__problem *problem, bool *out_learned);

// Measures a weight (n, k) that is about to be loaded, for the class of rows that its layout is chosen by. Does nothing
// unless the context tunes on first use.
VKF_MUST_CHECK vkf_status vkf__tune_weight(vkf_context *context, const vkf_dtype types[3], uint32_t n, uint32_t k);

#endif

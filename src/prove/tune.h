// The search for the fastest kernels of a product with a weight and of attention.
#ifndef VKF_PROVE_TUNE_H
#define VKF_PROVE_TUNE_H

#include "prove/tune_search.h"

#define VKF_TUNE_TIME_CAP_NS UINT64_C(20000000000)

static inline vkf__op vkf__tune_op(const vkf_tune_problem *problem)
{
    return problem->kind == VKF_TUNE_LINEAR ? VKF_OP_GEMM : VKF_OP_ATTENTION;
}

// What a problem is for selection, and the types that kernels are chosen by. Of a product with b in rows or in panels;
// attention has the first way alone.
vkf__problem vkf__tune_problem_of(const vkf_context *context, const vkf_tune_problem *problem, bool panels,
                                  vkf_dtype out_types[VKF_KERNEL_MAX_TYPES]);

// One problem; see vkf__tune_search().
VKF_MUST_CHECK vkf_status vkf__tune_one(vkf_context *context, const vkf_tune_problem *problem,
                                        const vkf__tune_limits *limits, vkf_tune_result *out_result);

// Measures attention, and a weight's shape for a class of rows, that have no entry yet, while the context's time for that
// lasts. In a plan only weights that vkf__tune_weight() has measured count, since other products look alike. *out_learned:
// whether there is an entry now that was not there before.
VKF_MUST_CHECK vkf_status vkf__tune_first_use(vkf_context *context, vkf__op op, const vkf_dtype *types,
                                              const vkf__problem *problem, bool *out_learned);

// The same when a weight (n, k) is about to be loaded, for the class that its layout is chosen by, where the context tunes
// on first use.
VKF_MUST_CHECK vkf_status vkf__tune_weight(vkf_context *context, const vkf_dtype types[3], uint32_t n, uint32_t k);

#endif

// The search for the fastest variant of an operator at one problem: candidates are tested, measured in turn, and the
// winner is proven and kept.
#ifndef VKF_PROVE_TUNE_SEARCH_H
#define VKF_PROVE_TUNE_SEARCH_H

#include <vkformer/tune.h>

#include "op/run_once.h"

enum { VKF_TUNE_ROWS = 0, VKF_TUNE_PANELS, VKF_TUNE_WAYS };

// The operator with its operand b, where it has one, in one layout.
typedef struct vkf__tune_way {
    const void *args; // of emit; NULL: not to be searched
    vkf__problem problem;
} vkf__tune_way;

typedef struct vkf__tune_subject {
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    vkf__emit_fn emit;
    vkf__tune_way ways[VKF_TUNE_WAYS];
} vkf__tune_subject;

// What stops a search: `deadline_ns` is of vkf__now_ns(); `keep_going(user, what)` (may be NULL) is asked before every
// measurement.
typedef struct vkf__tune_limits {
    double deadline_ns;
    bool (*keep_going)(void *user, const char *what);
    void *user;
} vkf__tune_limits;

// Statuses: CANCELLED, and those of running the candidates. *inout_result, whose problem is given, is filled in either
// way; entries found are kept.
VKF_MUST_CHECK vkf_status vkf__tune_search(vkf_context *context, const vkf__tune_subject *subject,
                                           const vkf__tune_limits *limits, vkf_tune_result *inout_result);

#endif

// Searches for the fastest variant of an operator at one problem: tests the candidates, measures them in turn, and
// proves and keeps the winner.
#ifndef VKF_PROVE_TUNE_SEARCH_H
#define VKF_PROVE_TUNE_SEARCH_H

#include <vkformer/tune.h>

#include "op/run_once.h"

enum { VKF_TUNE_ROWS = 0, VKF_TUNE_PANELS, VKF_TUNE_WAYS };

// One way to state the problem: with operand b, if there is one, in one layout.
typedef struct vkf__tune_way {
    const void *args; // of emit; NULL: this way is not searched
    vkf__problem problem;
} vkf__tune_way;

typedef struct vkf__tune_subject {
    vkf__op op;
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    vkf__emit_fn emit;
    vkf__tune_way ways[VKF_TUNE_WAYS];
} vkf__tune_subject;

// What stops a search: vkf__now_ns() reaching `deadline_ns`, or `keep_going(user, what)` (may be NULL), which is asked
// before every measurement.
typedef struct vkf__tune_limits {
    double deadline_ns;
    bool (*keep_going)(void *user, const char *what);
    void *user;
} vkf__tune_limits;

// Statuses: CANCELLED, and those of running the candidates. *inout_result has its problem set; the rest is filled in,
// by a cancelled search, too. Entries that were found are kept.
VKF_MUST_CHECK vkf_status vkf__tune_search(vkf_context *context, const vkf__tune_subject *subject,
                                           const vkf__tune_limits *limits, vkf_tune_result *inout_result);

#endif

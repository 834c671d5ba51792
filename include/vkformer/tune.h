// Measures which kernels are fastest on the device, and tells what was chosen and why.
//
// Without measurements a kernel is chosen by what the device can do. Measured choices take precedence. For a Linear
// they are found per weight (n, k), with the weight in rows and in panels, and per class of rows (1, up to 8, up to 32,
// up to 128, more). For attention they are found per width k of a head, the same classes of queries, and the number of
// keys rounded up to a power of two. They are kept through the context's cache callbacks as a text table under the key
// "tuned-...". The table is ignored when device or driver has changed, and an entry when its kernel has.
#ifndef VKFORMER_TUNE_H
#define VKFORMER_TUNE_H

#include <vkformer/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum vkf_tune_kind {
    VKF_TUNE_LINEAR = 0, // x (m, k) times a weight (n, k): out (m, n)
    VKF_TUNE_ATTENTION,  // m queries, n keys, heads of width k, without a mask; batch 1
} vkf_tune_kind;

typedef struct vkf_tune_problem {
    uint32_t m, n, k;
    vkf_dtype x, weight, out; // for attention: of the queries, of keys and values, of the output
    vkf_tune_kind kind;
    uint32_t heads;       // for attention: how many are measured side by side; 0: 8
    uint32_t reserved[8]; // 0; room for members of later versions
} vkf_tune_problem;

#define VKF_VARIANT_NAME_SIZE 96

// What was found for one problem. Names are "kernel/config", "" where there is none.
typedef struct vkf_tune_result {
    vkf_tune_problem problem;
    bool tuned;        // false: time was up, the search was cancelled, or no kernel takes the problem
    vkf_layout layout; // in which the weight is faster; for attention, rows
    char variant[VKF_VARIANT_NAME_SIZE];
    double ns;
    char next[VKF_VARIANT_NAME_SIZE]; // the runner-up, of either layout
    double next_ns;
    char default_variant[VKF_VARIANT_NAME_SIZE]; // what is taken without measurements
    double default_ns;
    uint32_t measured; // candidates
    uint32_t refused;  // candidates that were wrong or too slow in their self-test
} vkf_tune_result;

typedef struct vkf_tune_options {
    uint64_t time_cap_ns; // of the whole search; 0: 20 s
    // Called before every measurement; `what` names it. Returning false gives VKF_ERROR_CANCELLED; what was found so
    // far is kept. It must not call back into the library. May be NULL.
    vkf_progress_fn progress;
    void *progress_user;
} vkf_tune_options;

// Measures `count` problems in their order. Every candidate must match the reference on edge shapes before it is timed,
// and the winner must match it 60 times over. Times are GPU timestamps in a context with `timestamps`, else the time
// between submission and completion. Results are saved, and take effect in plans that are made from then on.
// options == NULL: defaults. out_results (may be NULL) holds `count` results; those not reached have tuned == false.
// Statuses: INVALID_ARGUMENT, CANCELLED, OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST, VULKAN.
VKF_INLINE VKF_MUST_CHECK vkf_status vkf_tune(vkf_context *context, const vkf_tune_problem *problems, uint32_t count,
                                              const vkf_tune_options *options, vkf_tune_result *out_results);

// One variant that has the problem's types, with the weight in one layout; for attention, in rows.
typedef struct vkf_choice {
    const char *variant; // valid during the call
    vkf_layout layout;
    bool chosen;           // for this layout
    bool wanted;           // chosen, and this layout is the better one for the weight
    bool usable;           // may serve the problem on this device
    bool tested;           // passed its self-test
    const char *why;       // chosen or not; static
    uint32_t registers;    // estimate, per invocation
    uint32_t shared_bytes; // of a workgroup
} vkf_choice;

// Visits every variant for a problem, first in rows, then, for a Linear, in panels. Tests and measures nothing.
typedef void (*vkf_choice_fn)(void *user, const vkf_choice *choice);
VKF_API VKF_MUST_CHECK vkf_status vkf_tune_explain(vkf_context *context, const vkf_tune_problem *problem,
                                                   vkf_choice_fn visit, void *user);

#ifdef __cplusplus
}
#endif

#include <vkformer/sized/tune.h>

#endif

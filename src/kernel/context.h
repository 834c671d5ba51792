// What a context is made of, for the floors above.
#ifndef VKF_KERNEL_CONTEXT_H
#define VKF_KERNEL_CONTEXT_H

#include <stdatomic.h>

#include <vkformer/profile.h>

#include "kernel/counters.h"
#include "kernel/learned.h"
#include "kernel/pipeline.h"
#include "vk/buffer.h"

typedef struct vkf__want vkf__want;

// Proves on the device what a plan wants and nobody has tried there. *out_again becomes true when selection has learned
// something by it, so that the plan may be another. Statuses: those of running kernels; what could not be tried stays
// unknown.
typedef vkf_status (*vkf__prove_fn)(vkf_context *context, const vkf__want *wants, size_t count, bool *out_again);

// What is made from a context and keeps it.
typedef enum vkf__made {
    VKF_MADE_BUFFER = 0,
    VKF_MADE_LAYER,
    VKF_MADE_MODEL,
    VKF_MADE_SESSION,
    VKF_MADE_GENERATOR,
    VKF_MADE_EMBEDDER,
    VKF_MADE_VOCABULARY,
    VKF_MADE_COUNT
} vkf__made;

struct vkf_context {
    vkf__host host;
    atomic_size_t references; // the owner's, and one of each object made from it
    atomic_size_t made[VKF_MADE_COUNT];
    vkf__instance instance;
    vkf__device device;
    vkf__memory memory;
    vkf__transfer transfer;
    vkf__pipelines pipelines;
    vkf__learned learned;
    // Set by the floors above when the context is made, before any other thread knows it. NULL: kernels are trusted.
    vkf__prove_fn prove;
    bool self_tests;              // what is wanted is tested
    bool tunes_on_first_use;      // and measured
    uint64_t self_test_budget_ns; // of one dispatch
    pthread_mutex_t test_lock;    // one self-test at a time
    pthread_mutex_t tune_lock;    // one search at a time; taken before test_lock
    bool locks_ready;
    uint64_t first_use_left_ns; // what searches on first use may still take; guarded by tune_lock
    char *forced_variant;       // NULL: none
    vkf_precision precision;
    vkf_cache_callbacks cache;
    vkf__counters counters; // zeros: none
    vkf_profiler profiler;  // zeros: none
    vkf_probe_fn probe;     // NULL: none
    void *probe_user;
    uint32_t device_index;
    // GPU time of the last operator called by itself (negative: unknown) and its main kernel's name. Operators may run
    // in several threads at once: then the last one to end is told of.
    _Atomic(double) last_op_ns;
    _Atomic(const char *) last_op_kernel;
};

// Whether factors in float32 may be rounded to 16 bits: vkf__problem.allow_f16_math.
static inline bool vkf__context_allows_f16_math(const vkf_context *context)
{
    return context->precision == VKF_PRECISION_F16;
}

// Whether the process is a child of fork(): see vkf__device_is_inherited().
static inline bool vkf__context_is_inherited(const vkf_context *context)
{
    return vkf__device_is_inherited(&context->device);
}

// What a public function asks before it touches the device or a lock. INVALID_ARGUMENT in a child of fork().
VKF_MUST_CHECK static inline vkf_status vkf__context_enter(const vkf_context *context, const char *function)
{
    return vkf__device_check_process(&context->device, function);
}

// The reference of an object that is being made, and of one that is freed: the last user frees the context.
void vkf__context_hold(vkf_context *context, vkf__made kind);
void vkf__context_drop(vkf_context *context, vkf__made kind);
// The owner's reference. Warns, with numbers, where objects made from the context keep it.
void vkf__context_drop_owner(vkf_context *context);

// What selection looks at in this context.
vkf__selector vkf__context_selector(const vkf_context *context);

// `desc` is not NULL. Statuses as vkf_context_create().
VKF_MUST_CHECK vkf_status vkf__context_create(const vkf_context_desc *desc, vkf_context **out_context);
// Saves what was learned and the pipeline cache first; accepts a half-made context.
void vkf__context_destroy(vkf_context *context);
VKF_MUST_CHECK vkf_status vkf__enumerate_devices(const vkf_context_desc *desc, uint32_t *inout_count,
                                                 vkf_device_info *out_infos);

#endif

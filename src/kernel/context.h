// A context as the floors above see it.
#ifndef VKF_KERNEL_CONTEXT_H
#define VKF_KERNEL_CONTEXT_H

#include <stdatomic.h>

#include <vkformer/profile.h>

#include "base/file_cache.h"
#include "kernel/counters.h"
#include "kernel/learned.h"
#include "kernel/pipeline.h"
#include "vk/buffer.h"

typedef struct vkf__dispatch_plan vkf__dispatch_plan;

// Proves on the device what a plan wants and has not been tried there. *out_again becomes true when selection
// has learned something, because the plan may then choose differently. Statuses: those of running kernels. A variant
// that could not be tried stays unknown.
typedef vkf_status (*vkf__prove_fn)(vkf_context *context, const vkf__dispatch_plan *plan, bool *out_again);

// Kinds of objects that are made from a context and keep it.
typedef enum vkf__made {
    VKF_MADE_BUFFER = 0,
    VKF_MADE_LAYER,
    VKF_MADE_MODEL,
    VKF_MADE_SESSION,
    VKF_MADE_GENERATOR,
    VKF_MADE_EMBEDDER,
    VKF_MADE_VOCABULARY,
    VKF_MADE_TRAINER,
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
    // Set by the floors above while the context is made, before any other thread knows it. NULL: kernels are trusted.
    vkf__prove_fn prove;
    bool self_tests;              // wanted variants are tested
    bool tunes_on_first_use;      // and measured, too
    uint64_t self_test_budget_ns; // for one dispatch
    double submission_flops;      // what a session's submission holds, more than one command buffer; 0: any number
    pthread_mutex_t test_lock;    // one self-test at a time
    pthread_mutex_t tune_lock;    // one search at a time; taken before test_lock
    bool locks_ready;
    uint64_t first_use_left_ns; // what searches on first use may still spend; guarded by tune_lock
    char *forced_variant;       // NULL: none
    vkf_precision precision;
    vkf_cache_callbacks cache;
    vkf__file_cache files;  // that the callbacks are of, where the caller gave a directory
    vkf__counters counters; // all zeros: none
    vkf_profiler profiler;  // all zeros: none
    vkf_probe_fn probe;     // NULL: none
    void *probe_user;
    uint32_t device_index;
    // GPU time of the last operator that was called by itself (negative: unknown), and the name of its main kernel.
    // Where several threads call operators at once, these are of the last one to end.
    _Atomic(double) last_op_ns;
    _Atomic(const char *) last_op_kernel;
};

// Whether the process is a child of fork(); see vkf__device_is_inherited().
static inline bool vkf__context_is_inherited(const vkf_context *context)
{
    return vkf__device_is_inherited(&context->device);
}

// Public functions call this before they touch the device or a lock. INVALID_ARGUMENT in a child of fork().
VKF_MUST_CHECK static inline vkf_status vkf__context_enter(const vkf_context *context, const char *function)
{
    return vkf__device_check_process(&context->device, function);
}

// The first takes a reference for an object that is being made, the second gives it back when the object is freed. The
// last user frees the context.
void vkf__context_hold(vkf_context *context, vkf__made kind);
void vkf__context_drop(vkf_context *context, vkf__made kind);
// Gives back the owner's reference. Warns, with counts, where objects made from the context keep it alive.
void vkf__context_drop_owner(vkf_context *context);

// What selection takes into account in this context.
vkf__selector vkf__context_selector(const vkf_context *context);

// Makes the pipeline of a variant with these specialisation constants, so that building with it takes no time.
// *out_refused: whether the driver does not take it; then the variant is not chosen again. Statuses as for
// vkf__pipelines_get().
VKF_MUST_CHECK vkf_status vkf__context_compile(vkf_context *context, const vkf__variant *variant, const uint32_t *spec,
                                               bool *out_refused);

// Says that the driver does not take a variant, which is not chosen again.
void vkf__context_uncompiled(vkf_context *context, const vkf__variant *variant);

// `desc` is not NULL. Statuses as for vkf_context_create(). `out_infos` has elements of `info_bytes` bytes.
VKF_MUST_CHECK vkf_status vkf__context_create(const vkf_context_desc *desc, vkf_context **out_context);
// The host of such a context.
VKF_MUST_CHECK vkf_status vkf__context_host(const vkf_context_desc *desc, vkf__host *out_host);
// Plans the device that such a context would make of desc->external, of which instance, physical device and version
// are read. *out_device has the plan and is only described. `host` outlives it. Statuses as for
// vkf_device_setup_create().
VKF_MUST_CHECK vkf_status vkf__context_plan_device(const vkf_context_desc *desc, const vkf__host *host,
                                                   vkf__device *out_device);
// First saves what was learned and the pipeline cache. Accepts a half-made context.
void vkf__context_destroy(vkf_context *context);
VKF_MUST_CHECK vkf_status vkf__enumerate_devices(const vkf_context_desc *desc, uint32_t *inout_count,
                                                 vkf_device_info *out_infos, size_t info_bytes);

#endif

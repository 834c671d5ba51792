// What a context learns about its device (verdicts of the self-test, the tuner's table) and keeps through the cache
// callbacks. With a shader_dir nothing is loaded or kept, because its kernels may change at any time.
#ifndef VKF_KERNEL_LEARNED_H
#define VKF_KERNEL_LEARNED_H

#include <vkformer/context.h>

#include "kernel/passed.h"
#include "vk/device.h"

// A table is never changed once it can be seen: a reader may still hold one when a newer one has taken its place.
typedef struct vkf__tuned_table {
    vkf__tuned tuned;
    struct vkf__tuned_table *older;
} vkf__tuned_table;

typedef struct vkf__learned {
    vkf__device *device;
    const vkf_cache_callbacks *cache;
    bool keep;
    vkf__verdicts verdicts;
    uint32_t cores;                     // as measured; 0: not, or the driver tells. Written while the context is made
    _Atomic(vkf__tuned_table *) newest; // NULL: nothing was measured
    vkf__passed passed;                 // guarded by `lock`
    bool one_by_one;                    // see vkf__learned_begin_batch(); guarded by `lock`
    atomic_bool unsaved_verdicts, unsaved_tuned, unsaved_passed;
    pthread_mutex_t lock; // for writers of tables, and for saving
    bool lock_ready;
} vkf__learned;

// Status OUT_OF_HOST_MEMORY. Call vkf__learned_finish() afterwards, whatever the status.
VKF_MUST_CHECK vkf_status vkf__learned_init(vkf__learned *learned, vkf__device *device,
                                            const vkf_cache_callbacks *cache, bool keep);
void vkf__learned_finish(vkf__learned *learned);

const vkf__tuned *vkf__learned_tuned(const vkf__learned *learned);

void vkf__learned_found(vkf__learned *learned, const vkf__kernel *kernel, const vkf__config *config,
                        const vkf__finding *finding);
void vkf__learned_verdict(vkf__learned *learned, const vkf__kernel *kernel, const vkf__config *config,
                          vkf__verdict verdict);
void vkf__learned_race(vkf__learned *learned, const vkf__kernel *kernel, const vkf__config *config, vkf__race race);

// Around a variant's first test: what is stored under the key "testing-..." says meanwhile that the test runs, in case
// that the process does not come back from it (test_marks.h). One test at a time. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__learned_begin_test(vkf__learned *learned, const vkf__variant *variant);
VKF_MUST_CHECK vkf_status vkf__learned_end_test(vkf__learned *learned, const vkf__variant *variant);

// Forgets verdicts and races, here and in the cache.
void vkf__learned_forget(vkf__learned *learned);

// Visits the verdicts and races that are known, in the registry's order, while it holds the lock.
void vkf__learned_visit(vkf__learned *learned, vkf_verdict_fn visit, void *user);

// Whether a variant has passed with these constants, here or as it is stored; and that it has. Status
// OUT_OF_HOST_MEMORY.
bool vkf__learned_has_passed(vkf__learned *learned, const vkf__variant *variant, const uint32_t *spec);
VKF_MUST_CHECK vkf_status vkf__learned_passes(vkf__learned *learned, const vkf__variant *variant, const uint32_t *spec);

// Around a batch of compilations: what is stored says meanwhile that it has begun. False where another process had
// begun one and never ended it, so that the driver may have brought it down: then each pipeline is to be compiled in
// the test of its variant, which tells the one that does it.
bool vkf__learned_begin_batch(vkf__learned *learned);
void vkf__learned_end_batch(vkf__learned *learned);

// Keeps the number of cores, under the key "cores-...". Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__learned_cores(vkf__learned *learned, uint32_t cores);

// Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__learned_measured(vkf__learned *learned, const vkf__tuned_entry *entry);

// Hands what is new to the save callback, merged with what others have saved since. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__learned_save(vkf__learned *learned);

#endif

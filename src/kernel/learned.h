// What a context learns about its device - verdicts of the self-test, the tuner's table - and keeps through the cache
// callbacks. With a shader_dir nothing is loaded or kept: its kernels change under it.
#ifndef VKF_KERNEL_LEARNED_H
#define VKF_KERNEL_LEARNED_H

#include "kernel/tuned.h"
#include "kernel/verdict.h"
#include "vk/device.h"

// Tables are never changed once they can be seen: a reader may hold one while a newer one takes its place.
typedef struct vkf__tuned_table {
    vkf__tuned tuned;
    struct vkf__tuned_table *older;
} vkf__tuned_table;

typedef struct vkf__learned {
    vkf__device *device;
    const vkf_cache_callbacks *cache;
    bool keep;
    vkf__verdicts verdicts;
    _Atomic(vkf__tuned_table *) newest; // NULL: nothing was measured
    atomic_bool unsaved_verdicts, unsaved_tuned;
    pthread_mutex_t lock; // writers of tables, and saving
    bool lock_ready;
} vkf__learned;

// Status OUT_OF_HOST_MEMORY. vkf__learned_finish() afterwards in either case.
VKF_MUST_CHECK vkf_status vkf__learned_init(vkf__learned *learned, vkf__device *device,
                                            const vkf_cache_callbacks *cache, bool keep);
void vkf__learned_finish(vkf__learned *learned);

const vkf__tuned *vkf__learned_tuned(const vkf__learned *learned);

void vkf__learned_verdict(vkf__learned *learned, const vkf__kernel *kernel, const vkf__config *config,
                          vkf__verdict verdict);
// Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__learned_measured(vkf__learned *learned, const vkf__tuned_entry *entry);

// Hands what is new to callbacks->save, merged with what others have saved since. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__learned_save(vkf__learned *learned);

#endif

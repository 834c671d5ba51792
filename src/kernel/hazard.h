// Decides where barriers go, in this one place, from what each dispatch reads and writes. Pure.
#ifndef VKF_KERNEL_HAZARD_H
#define VKF_KERNEL_HAZARD_H

#include "base/host.h"

// A byte range of one buffer. The pointer only identifies the buffer and is never dereferenced.
typedef struct vkf__access {
    const void *buffer;
    uint64_t begin;
    uint64_t end;
    bool write;
} vkf__access;

// The accesses since the last barrier.
typedef struct vkf__hazards {
    const vkf__host *host;
    vkf__access *accesses;
    size_t count;
    size_t capacity;
} vkf__hazards;

void vkf__hazards_init(vkf__hazards *hazards, const vkf__host *host);
void vkf__hazards_finish(vkf__hazards *hazards);

// Enters a dispatch. *out_barrier says whether it needs a barrier before it: it reads what was written since the last
// one, or writes what was read or written since. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__hazards_add(vkf__hazards *hazards, const vkf__access *accesses, size_t count,
                                           bool *out_barrier);

#endif

// Plans the offsets of temporaries within one arena from their lifetimes. Pure: it runs before anything is allocated.
#ifndef VKF_VK_ARENA_H
#define VKF_VK_ARENA_H

#include "base/host.h"

typedef struct vkf__arena_item {
    uint64_t size_bytes;
    uint32_t first_use; // index of the first and of the last step that touches it, inclusive
    uint32_t last_use;
    uint64_t offset; // out
} vkf__arena_item;

// Gives every item an offset (a multiple of `alignment`) such that items alive at the same step do not overlap.
// *out_bytes is the arena's size. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE (overflow).
VKF_MUST_CHECK vkf_status vkf__arena_plan(const vkf__host *host, vkf__arena_item *items, size_t count,
                                          uint64_t alignment, uint64_t *out_bytes);

#endif

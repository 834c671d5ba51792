// Sets of code points: sorted ranges that do not touch.
#ifndef VKF_TEXT_CODE_SET_H
#define VKF_TEXT_CODE_SET_H

#include "base/host.h"

typedef struct vkf__code_range {
    uint32_t first, end;
} vkf__code_range;

// Zeroed: empty. The functions below return OUT_OF_HOST_MEMORY and leave the set as it was when memory is exhausted.
typedef struct vkf__code_set {
    vkf__code_range *ranges;
    size_t count, capacity;
} vkf__code_set;

void vkf__code_set_free(const vkf__host *host, vkf__code_set *set);

// Adds the code points from first to end - 1.
VKF_MUST_CHECK vkf_status vkf__code_set_add(const vkf__host *host, vkf__code_set *set, uint32_t first, uint32_t end);
VKF_MUST_CHECK vkf_status vkf__code_set_join(const vkf__host *host, vkf__code_set *set, const vkf__code_set *other);
VKF_MUST_CHECK vkf_status vkf__code_set_intersect(const vkf__host *host, vkf__code_set *set,
                                                  const vkf__code_set *other);
// Every code point that is not in it.
VKF_MUST_CHECK vkf_status vkf__code_set_invert(const vkf__host *host, vkf__code_set *set);

bool vkf__code_set_has(const vkf__code_set *set, uint32_t code);
bool vkf__code_set_equal(const vkf__code_set *a, const vkf__code_set *b);

#endif

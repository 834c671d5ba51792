// Places temporaries greedily, the largest first, each at the lowest offset that is free during its lifetime.
#include "vk/arena.h"

#include "base/size.h"

static bool alive_together(const vkf__arena_item *a, const vkf__arena_item *b)
{
    return a->first_use <= b->last_use && b->first_use <= a->last_use;
}

// The order of placement is largest first, with ties by index, so that the plan is the same on every run.
static void sort_by_size(const vkf__arena_item *items, size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        while (at > 0 && items[order[at - 1]].size_bytes < items[i].size_bytes) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
}

// Finds the lowest aligned offset at which item `index` overlaps no placed item that is alive with it.
static bool place(vkf__arena_item *items, const size_t *order, size_t placed, size_t index, uint64_t alignment)
{
    vkf__arena_item *item = &items[index];
    uint64_t offset = 0;
    bool moved = true;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < placed; i++) {
            const vkf__arena_item *other = &items[order[i]];
            if (!alive_together(item, other) || other->size_bytes == 0)
                continue;
            uint64_t end = 0;
            if (!vkf__add_u64(offset, item->size_bytes, &end))
                return false;
            if (offset < other->offset + other->size_bytes && other->offset < end) {
                offset = vkf__align_u64(other->offset + other->size_bytes, alignment);
                moved = true;
            }
        }
    }
    item->offset = offset;
    uint64_t end = 0;
    return vkf__add_u64(offset, item->size_bytes, &end) && end <= UINT64_MAX - alignment;
}

vkf_status vkf__arena_plan(const vkf__host *host, vkf__arena_item *items, size_t count, uint64_t alignment,
                           uint64_t *out_bytes)
{
    if (count == 0) {
        *out_bytes = 0;
        return VKF_OK;
    }
    vkf_status status = VKF_OK;
    size_t *order = NULL;
    VKF_ALLOC(host, order, count);
    sort_by_size(items, order, count);
    uint64_t total = 0;
    for (size_t i = 0; i < count; i++) {
        if (!place(items, order, i, order[i], alignment)) {
            status = vkf__fail(host, VKF_ERROR_TOO_LARGE, "arena: temporaries exceed the address range");
            goto fail;
        }
        uint64_t end = items[order[i]].offset + items[order[i]].size_bytes;
        total = end > total ? end : total;
    }
    *out_bytes = vkf__align_u64(total, alignment);
fail:
    vkf__free(host, order);
    return status;
}

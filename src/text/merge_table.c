// The hash table of merges.
#include "text/merge_table.h"

vkf_status vkf__merge_table_create(const vkf__host *host, size_t count, vkf__merge_table *out_table)
{
    vkf__merge_table table = {.host = host};
    size_t slots = 16;
    while (slots < 2 * count)
        slots *= 2;
    VKF_ALLOC_OR_RETURN(host, table.slots, slots);
    for (size_t i = 0; i < slots; i++)
        table.slots[i].merged = VKF_MERGE_FREE;
    table.mask = slots - 1;
    *out_table = table;
    return VKF_OK;
}

void vkf__merge_table_free(vkf__merge_table *table)
{
    if (table->host)
        vkf__free(table->host, table->slots);
    *table = (vkf__merge_table){0};
}

// The slot of a pair of tokens, or the free one where the pair would go.
static size_t find_slot(const vkf__merge_table *table, int32_t left, int32_t right)
{
    uint64_t key = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    // The finaliser of splitmix64, so that consecutive ids do not fall side by side.
    key = (key ^ (key >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ (key >> 27)) * UINT64_C(0x94d049bb133111eb);
    size_t slot = (size_t)(key ^ (key >> 31)) & table->mask;
    while (table->slots[slot].merged != VKF_MERGE_FREE &&
           (table->slots[slot].left != left || table->slots[slot].right != right))
        slot = (slot + 1) & table->mask;
    return slot;
}

void vkf__merge_table_add(vkf__merge_table *table, vkf__merge merge)
{
    table->slots[find_slot(table, merge.left, merge.right)] = merge;
}

const vkf__merge *vkf__merge_table_find(const vkf__merge_table *table, int32_t left, int32_t right)
{
    const vkf__merge *merge = &table->slots[find_slot(table, left, right)];
    return merge->merged == VKF_MERGE_FREE ? NULL : merge;
}

// The merges of byte-pair encoding: for two tokens, how early they merge and what they become.
#ifndef VKF_TEXT_MERGE_TABLE_H
#define VKF_TEXT_MERGE_TABLE_H

#include "base/host.h"

typedef struct vkf__merge {
    int32_t left;
    int32_t right;
    uint32_t rank;
    int32_t merged; // VKF_MERGE_FREE: a free slot
} vkf__merge;

#define VKF_MERGE_FREE (-1)

// A hash table with open addressing, at most half full.
typedef struct vkf__merge_table {
    const vkf__host *host;
    vkf__merge *slots;
    size_t mask; // the number of slots less one
} vkf__merge_table;

// Makes room for `count` merges. Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__merge_table_create(const vkf__host *host, size_t count, vkf__merge_table *out_table);
void vkf__merge_table_free(vkf__merge_table *table);

// The last of several merges of the same two tokens counts.
void vkf__merge_table_add(vkf__merge_table *table, vkf__merge merge);
// NULL when the two do not merge.
const vkf__merge *vkf__merge_table_find(const vkf__merge_table *table, int32_t left, int32_t right);

#endif

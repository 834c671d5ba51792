// A trie that maps strings to numbers. It looks up a whole string, or all strings that a text begins with. It is built
// once and then only read.
#ifndef VKF_TEXT_TRIE_H
#define VKF_TEXT_TRIE_H

#include "base/host.h"

typedef struct vkf__trie_entry {
    const char *text;
    uint32_t bytes;
    int32_t value; // not negative
} vkf__trie_entry;

// Nodes are in the order of their depth: the children of node i are first_child[i] .. first_child[i + 1], sorted by
// label.
typedef struct vkf__trie {
    const vkf__host *host;
    uint32_t *first_child; // (count + 1)
    uint8_t *label;        // (count)
    int32_t *value;        // (count), VKF_TRIE_NONE for a node where no string ends
    size_t count;
    uint32_t root[256]; // the children of the root by their label, 0 for none
} vkf__trie;

#define VKF_TRIE_NONE (-1)
#define VKF_TRIE_ROOT 0u
#define VKF_TRIE_DEAD UINT32_MAX

// Sorts the entries. Of several equal ones, the last one counts. Statuses: OUT_OF_HOST_MEMORY, TOO_LARGE.
VKF_MUST_CHECK vkf_status vkf__trie_build(const vkf__host *host, vkf__trie_entry *entries, size_t count,
                                          vkf__trie *out_trie);
void vkf__trie_free(vkf__trie *trie);

// The node that a byte leads to from `node`, which may be VKF_TRIE_DEAD; VKF_TRIE_DEAD for none.
static inline uint32_t vkf__trie_step(const vkf__trie *trie, uint32_t node, uint8_t byte)
{
    if (node == VKF_TRIE_ROOT)
        return trie->root[byte] ? trie->root[byte] : VKF_TRIE_DEAD;
    if (node == VKF_TRIE_DEAD)
        return VKF_TRIE_DEAD;
    uint32_t begin = trie->first_child[node];
    uint32_t end = trie->first_child[node + 1];
    while (end - begin > 8) {
        uint32_t middle = begin + (end - begin) / 2;
        if (trie->label[middle] <= byte)
            begin = middle;
        else
            end = middle;
    }
    for (; begin < end; begin++) {
        if (trie->label[begin] == byte)
            return begin;
    }
    return VKF_TRIE_DEAD;
}

// The node that a text leads to from `node`.
uint32_t vkf__trie_walk(const vkf__trie *trie, uint32_t node, const char *text, size_t bytes);
// The number of a text, or VKF_TRIE_NONE.
int32_t vkf__trie_find(const vkf__trie *trie, const char *text, size_t bytes);

#endif

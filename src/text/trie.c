// Builds tries level by level from sorted strings.
#include "text/trie.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const vkf__trie_entry *x = a;
    const vkf__trie_entry *y = b;
    size_t common = x->bytes < y->bytes ? x->bytes : y->bytes;
    int order = common > 0 ? memcmp(x->text, y->text, common) : 0;
    if (order != 0)
        return order;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

// Counts a node for the root, and one for every byte in which an entry differs from the one before it.
static size_t count_nodes(const vkf__trie_entry *entries, size_t count)
{
    size_t nodes = 1;
    for (size_t i = 0; i < count; i++) {
        size_t common = 0;
        while (i > 0 && common < entries[i].bytes && common < entries[i - 1].bytes &&
               entries[i].text[common] == entries[i - 1].text[common])
            common++;
        nodes += entries[i].bytes - common;
    }
    return nodes;
}

// The entries below a node, all of which agree in their first `depth` bytes.
typedef struct entry_range {
    uint32_t begin;
    uint32_t end;
    uint32_t depth;
} entry_range;

// Adds the children of `node`, which may be any node so far; returns the new count.
static uint32_t add_children(vkf__trie *trie, const vkf__trie_entry *entries, entry_range *ranges, uint32_t node,
                             uint32_t count)
{
    entry_range range = ranges[node];
    // The entry that ends here comes first, several times if it was given several times.
    while (range.begin < range.end && entries[range.begin].bytes == range.depth)
        trie->value[node] = entries[range.begin++].value;
    while (range.begin < range.end) {
        uint8_t label = (uint8_t)entries[range.begin].text[range.depth];
        uint32_t end = range.begin;
        while (end < range.end && (uint8_t)entries[end].text[range.depth] == label)
            end++;
        trie->label[count] = label;
        trie->value[count] = VKF_TRIE_NONE;
        ranges[count++] = (entry_range){range.begin, end, range.depth + 1};
        range.begin = end;
    }
    return count;
}

vkf_status vkf__trie_build(const vkf__host *host, vkf__trie_entry *entries, size_t count, vkf__trie *out_trie)
{
    vkf_status status = VKF_OK;
    vkf__trie trie = {.host = host};
    entry_range *ranges = NULL;
    if (count > 0)
        qsort(entries, count, sizeof *entries, compare);
    size_t nodes = count_nodes(entries, count);
    if (nodes >= VKF_TRIE_DEAD - 1)
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "the strings of a vocabulary take too much room");
    VKF_ALLOC(host, trie.first_child, nodes + 1);
    VKF_ALLOC(host, trie.label, nodes);
    VKF_ALLOC(host, trie.value, nodes);
    VKF_ALLOC(host, ranges, nodes);
    trie.value[0] = VKF_TRIE_NONE;
    ranges[0] = (entry_range){0, (uint32_t)count, 0};
    uint32_t made = 1;
    for (uint32_t node = 0; node < nodes; node++) {
        trie.first_child[node] = made;
        made = add_children(&trie, entries, ranges, node, made);
    }
    trie.first_child[nodes] = made;
    trie.count = nodes;
    for (uint32_t child = 1; child < trie.first_child[1]; child++)
        trie.root[trie.label[child]] = child;
    *out_trie = trie;
    trie = (vkf__trie){.host = host};
fail:
    vkf__free(host, ranges);
    vkf__trie_free(&trie);
    return status;
}

void vkf__trie_free(vkf__trie *trie)
{
    if (!trie->host)
        return;
    vkf__free(trie->host, trie->first_child);
    vkf__free(trie->host, trie->label);
    vkf__free(trie->host, trie->value);
    *trie = (vkf__trie){0};
}

uint32_t vkf__trie_walk(const vkf__trie *trie, uint32_t node, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes && node != VKF_TRIE_DEAD; i++)
        node = vkf__trie_step(trie, node, (uint8_t)text[i]);
    return node;
}

int32_t vkf__trie_find(const vkf__trie *trie, const char *text, size_t bytes)
{
    uint32_t node = vkf__trie_walk(trie, VKF_TRIE_ROOT, text, bytes);
    return node == VKF_TRIE_DEAD ? VKF_TRIE_NONE : trie->value[node];
}

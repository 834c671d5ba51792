// Which tokens have the same id, as lists: what is summed by id is so summed in an order that does not change.
#ifndef VKF_BASE_ID_ORDER_H
#define VKF_BASE_ID_ORDER_H

#include <stddef.h>
#include <stdint.h>

// The length of the lists of so many tokens, at most 2^31 / 3.
static inline size_t vkf__id_order_length(uint32_t tokens)
{
    return 3 * (size_t)tokens + 1;
}

// Where two of the lists begin: those of ids that occur, and of their first places in the list of tokens.
static inline uint32_t vkf__id_order_starts(uint32_t tokens)
{
    return tokens;
}

static inline uint32_t vkf__id_order_ids(uint32_t tokens)
{
    return 2 * tokens + 1;
}

// Sorts tokens by id, those of one id as they stand. `out_lists` gets the numbers of tokens; then, for each id that
// occurs, in rising order, its first place among these, and one more for their end; then these ids. What is not
// 0 .. vocab - 1, as the id of a token that is masked out, is left out. Returns how many ids occur. `scratch` has
// `vocab` elements. Takes time in proportion to tokens + vocab.
uint32_t vkf__id_order(const int32_t *ids, uint32_t tokens, uint32_t vocab, uint32_t *scratch, int32_t *out_lists);

#endif

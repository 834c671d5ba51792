// A counting sort (Knuth, TAOCP 3, 5.2).
#include "base/train/id_order.h"

#include <string.h>

uint32_t vkf__id_order(const int32_t *ids, uint32_t tokens, uint32_t vocab, uint32_t *scratch, int32_t *out_lists)
{
    int32_t *starts = out_lists + vkf__id_order_starts(tokens), *occurring = out_lists + vkf__id_order_ids(tokens);
    uint32_t unique = 0, place = 0;
    memset(scratch, 0, vocab * sizeof *scratch);
    for (uint32_t i = 0; i < tokens; i++) {
        if ((uint32_t)ids[i] < vocab) // a negative id lands beyond any vocabulary
            scratch[ids[i]]++;
    }
    for (uint32_t id = 0; id < vocab; id++) {
        const uint32_t count = scratch[id];
        scratch[id] = place; // of the id's next token
        if (count == 0)
            continue;
        starts[unique] = (int32_t)place;
        occurring[unique++] = (int32_t)id;
        place += count;
    }
    starts[unique] = (int32_t)place;
    for (uint32_t i = 0; i < tokens; i++) {
        if ((uint32_t)ids[i] < vocab)
            out_lists[scratch[ids[i]]++] = (int32_t)i;
    }
    return unique;
}

// Sorts texts by their length in tokens.
#include "model/text/batch_order.h"

#include <stdlib.h>

// qsort() passes no context to this function, so the elements carry their lengths. Equal lengths keep the texts' order.
static int longer_first(const void *a, const void *b)
{
    const vkf__ranked *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

vkf_status vkf__order_by_length(const vkf__host *host, const vkf_encoding *encodings, uint32_t count, uint32_t window,
                                vkf__ranked **out_order)
{
    vkf__ranked *order = NULL;
    VKF_ALLOC_OR_RETURN(host, order, count);
    for (uint32_t i = 0; i < count; i++)
        order[i] = (vkf__ranked){i, encodings[i].count};
    for (uint32_t first = 0; first < count; first += window)
        qsort(order + first, count - first < window ? count - first : window, sizeof *order, longer_first);
    *out_order = order;
    return VKF_OK;
}

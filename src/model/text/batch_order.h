// The order in which texts are batched. Texts of similar lengths run together, because padding is computed for nothing.
#ifndef VKF_MODEL_BATCH_ORDER_H
#define VKF_MODEL_BATCH_ORDER_H

#include <vkformer/tokenizer.h>

#include "base/host.h"

typedef struct vkf__ranked {
    uint32_t index, length; // of a text; its length in tokens
} vkf__ranked;

// *out_order (count) has the longest text of each `window` first, the first of which are texts 0 to window - 1. The
// caller owns it and frees it with vkf__free(). Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__order_by_length(const vkf__host *host, const vkf_encoding *encodings, uint32_t count,
                                               uint32_t window, vkf__ranked **out_order);

#endif

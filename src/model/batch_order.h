// In which order texts run together: like lengths side by side, as positions of a batch that are padding are computed for
// nothing.
#ifndef VKF_MODEL_BATCH_ORDER_H
#define VKF_MODEL_BATCH_ORDER_H

#include <vkformer/tokenizer.h>

#include "base/host.h"

typedef struct vkf__ranked {
    uint32_t index, length; // of a text, and its tokens
} vkf__ranked;

// (count), the longest first; the caller's, to be freed with vkf__free(). Status OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__order_by_length(const vkf__host *host, const vkf_encoding *encodings, uint32_t count,
                                               vkf__ranked **out_order);

#endif

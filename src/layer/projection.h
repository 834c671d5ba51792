// The projections of an attention block: where queries, keys and values of a run lie once they are made.
#ifndef VKF_LAYER_PROJECTION_H
#define VKF_LAYER_PROJECTION_H

#include "layer/attention_block.h"

// Projected rows: (batch, stride, width) with `row` elements from one row to the next.
typedef struct vkf__projected {
    vkf__span span;
    uint32_t width;
    uint32_t row;
    uint32_t stride; // rows from one batch entry to the next
} vkf__projected;

typedef struct vkf__projections {
    vkf__projected q, k, v;
    bool single; // one product has made them, side by side
} vkf__projections;

// The number of keys after the projected ones: bias_kv and zero_attn.
uint32_t vkf__extra_keys(const vkf__attention_block *block);

// Whether the products that read io.query normalise it, which io.norm asks for, decided at maximum sizes.
bool vkf__projections_normalise(const vkf__work *work, const vkf__attention_block *block, const vkf__attention_io *io,
                                const vkf__attention_sizes *sizes);

// They are on their way to the caches (layer/key_cache.h), unless they are projected straight into them.
VKF_MUST_CHECK vkf_status vkf__emit_projections(vkf__work *work, const vkf__attention_block *block,
                                                const vkf__attention_io *io, const vkf__attention_sizes *sizes,
                                                vkf__projections *out_projections);

#endif

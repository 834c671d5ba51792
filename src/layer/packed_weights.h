// Copies of a layer's weights in panels, which the layer makes for itself where its device reads that layout best. And
// copies of its vectors side by side, where products of few rows may normalise their input by them.
#ifndef VKF_LAYER_PACKED_WEIGHTS_H
#define VKF_LAYER_PACKED_WEIGHTS_H

#include "layer/layer.h"

// One weight that is worth a packed copy, or a vector, and where in the layer's buffer it goes.
typedef struct vkf__packed_weight {
    vkf__span *weight; // a span of the layer's description
    uint32_t n, k;
    bool vector; // of n elements, whole panels as they are
    uint64_t offset_bytes;
} vkf__packed_weight;

#define VKF_MAX_PACKED_WEIGHTS 21

typedef struct vkf__packed_weights {
    vkf__packed_weight items[VKF_MAX_PACKED_WEIGHTS];
    uint32_t count;
    uint64_t total_bytes; // 0: the weights stay as they are
} vkf__packed_weights;

// Has the weights in `desc` that lie in rows measured, where the context tunes on first use. Statuses: those of running
// kernels.
VKF_MUST_CHECK vkf_status vkf__packed_weights_measure(vkf_context *context, vkf__layer_desc *desc);

// Finds the vectors to copy, and the weights in `desc` that lie in rows but are better read in panels. Weights that
// several of the layer's spans share are packed once per span. Says in the description's fused_qkv whether q, k and v
// are one operand where the layer will read them.
void vkf__packed_weights_plan(const vkf_context *context, vkf__layer_desc *desc, vkf__packed_weights *out_packed);

// Points the spans of the description into `buffer`, which may be NULL while planning.
void vkf__packed_weights_place(vkf__packed_weights *packed, vkf_buffer *buffer);

// Packs the rows that `sources` names, one for each item, into `buffer`. Waits until it is done.
VKF_MUST_CHECK vkf_status vkf__packed_weights_fill(vkf_context *context, const vkf__packed_weights *packed,
                                                   const vkf__span *sources, vkf_buffer *buffer);

#endif

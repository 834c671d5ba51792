// The vkf_layer object: an emitter with its ports, memory and one recorded command buffer.
#ifndef VKF_LAYER_LAYER_H
#define VKF_LAYER_LAYER_H

#include <vkformer/layer.h>

#include "layer/attention_block.h"
#include "layer/feed_forward.h"
#include "layer/held_buffers.h"
#include "layer/transformer_layer.h"

typedef enum vkf__layer_kind {
    VKF_LAYER_ATTENTION = 0,
    VKF_LAYER_FEED_FORWARD,
    VKF_LAYER_ENCODER,
    VKF_LAYER_DECODER,
} vkf__layer_kind;

// A port: the caller's tensor, or one of this shape at maximum sizes in the layer's arena. Rank 0: there is no such
// port.
typedef struct vkf__port_desc {
    vkf_dtype dtype;
    uint32_t rank;
    uint32_t shape[VKF_MAX_RANK];
    vkf_tensor external; // absent: the layer's own
} vkf__port_desc;

// What a layer is made of; the blocks that its kind does not use are zero.
typedef struct vkf__layer_desc {
    vkf__layer_kind kind;
    const char *name; // static
    vkf__attention_block attention;
    vkf__feed_forward_block feed_forward;
    vkf__transformer_block transformer;
    bool self_attention;
    vkf_layer_sizes max_sizes;
    vkf__port_desc ports[VKF_PORT_COUNT];
} vkf__layer_desc;

struct vkf_layer {
    vkf_context *context;
    vkf__layer_desc desc;
    vkf__span ports[VKF_PORT_COUNT];
    vkf__work work;
    vkf__submission submission;
    vkf_buffer *arena;
    vkf_buffer *weights; // packed copies; NULL: the caller's own serve
    vkf__held_buffers held;
    vkf_layer_sizes sizes;
    uint32_t record_count;
    bool has_run;
};

// The descriptor must have been checked. Statuses as vkf_attention_create().
VKF_MUST_CHECK vkf_status vkf__layer_create(vkf_context *context, const vkf__layer_desc *desc, vkf_layer **out_layer);
VKF_MUST_CHECK vkf_status vkf__layer_plan(vkf_context *context, const vkf__layer_desc *desc, vkf_memory_plan *out_plan);

#endif

// The vkf_layer object: an emitter with its ports, memory and one recorded command buffer.
#ifndef VKF_LAYER_LAYER_H
#define VKF_LAYER_LAYER_H

#include <vkformer/layer.h>

#include "layer/attention_block.h"
#include "layer/feed_forward.h"
#include "layer/held_buffers.h"
#include "layer/transformer_layer.h"
#include "observe/profile.h"

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
    uint32_t frames; // at least 1
    vkf__port_desc ports[VKF_PORT_COUNT];
} vkf__layer_desc;

// What one run has for itself, while others may be under way: parameters and grids for its sizes, and a command buffer
// that reads these. Temporaries are common to all frames. The queue begins the submissions in order, and each begins
// with a barrier behind which the ones before it no longer read or write.
typedef struct vkf__layer_frame {
    vkf__work work;
    vkf__submission submission;
    bool under_way; // submitted, and not waited for
    vkf__run_times times;
} vkf__layer_frame;

struct vkf_layer {
    vkf_context *context;
    vkf__layer_desc desc;
    vkf__span ports[VKF_PORT_COUNT];
    vkf__layer_frame *frames; // desc.frames
    vkf_buffer *arena;
    vkf_buffer *weights; // packed copies; NULL: the caller's own serve
    vkf__held_buffers held;
    uint32_t record_count;
    vkf__layer_frame *last_run; // NULL: none has ended
};

// The descriptor must have been checked. Statuses as vkf_attention_create().
VKF_MUST_CHECK vkf_status vkf__layer_create(vkf_context *context, const vkf__layer_desc *desc, vkf_layer **out_layer);
VKF_MUST_CHECK vkf_status vkf__layer_plan(vkf_context *context, const vkf__layer_desc *desc, vkf_memory_plan *out_plan);

// Waits until the frame is no longer under way, and tells the profiler. Statuses: DEVICE_LOST, VULKAN,
// OUT_OF_HOST_MEMORY.
VKF_MUST_CHECK vkf_status vkf__layer_settle(vkf_layer *layer, vkf__layer_frame *frame);
// Checks the sizes and writes them for the frame, once it is no longer under way. Statuses as vkf_layer_set_sizes().
VKF_MUST_CHECK vkf_status vkf__layer_set_sizes(vkf_layer *layer, uint32_t frame, const vkf_layer_sizes *sizes);
// Submits the frame with these sizes. Statuses as vkf_layer_submit().
VKF_MUST_CHECK vkf_status vkf__layer_submit(vkf_layer *layer, uint32_t frame, const vkf_layer_sizes *sizes,
                                            const vkf__submit_semaphores *semaphores);
// INVALID_ARGUMENT where the layer has no such frame.
VKF_MUST_CHECK vkf_status vkf__layer_check_frame(const vkf_layer *layer, uint32_t frame);

#endif

// References to the buffers that a layer was given, so that the caller may destroy them before the layer.
#ifndef VKF_LAYER_HELD_BUFFERS_H
#define VKF_LAYER_HELD_BUFFERS_H

#include <stddef.h>

#include "layer/transformer_layer.h"

// How many tensors a caller may give, each in a buffer of its own.
#define VKF_ATTENTION_TENSORS (offsetof(vkf_attention_weights, in_proj) / sizeof(vkf_tensor))
#define VKF_FEED_FORWARD_TENSORS (offsetof(vkf_feed_forward_weights, reserved) / sizeof(vkf_tensor))
#define VKF_NORM_TENSORS (sizeof(vkf_norm_weights) / sizeof(vkf_tensor))
// Enough for a decoder layer, which has the most: two attentions, feed-forward, three norms, and every port.
#define VKF_MAX_HELD_BUFFERS \
    (2 * VKF_ATTENTION_TENSORS + VKF_FEED_FORWARD_TENSORS + 3 * VKF_NORM_TENSORS + VKF_PORT_COUNT)

typedef struct vkf__held_buffers {
    vkf_buffer *items[VKF_MAX_HELD_BUFFERS]; // each once
    uint32_t count;
} vkf__held_buffers;

// NULL is ignored.
void vkf__hold_buffer(vkf__held_buffers *held, vkf_buffer *buffer);
void vkf__hold_attention(vkf__held_buffers *held, const vkf__attention_block *block);
void vkf__hold_feed_forward(vkf__held_buffers *held, const vkf__feed_forward_block *block);
void vkf__hold_transformer(vkf__held_buffers *held, const vkf__transformer_block *block);

void vkf__drop_buffers(vkf__held_buffers *held);

#endif

// Collects the buffers of a layer's blocks, each once.
#include "layer/held_buffers.h"

#include <assert.h>

void vkf__hold_buffer(vkf__held_buffers *held, vkf_buffer *buffer)
{
    if (!buffer)
        return;
    for (uint32_t i = 0; i < held->count; i++)
        if (held->items[i] == buffer)
            return;
    assert(held->count < VKF_MAX_HELD_BUFFERS);
    vkf__buffer_hold(buffer);
    held->items[held->count++] = buffer;
}

void vkf__hold_attention(vkf__held_buffers *held, const vkf__attention_block *block)
{
    const vkf__attention_spans *params = &block->params;
    const vkf__span *const spans[] = {
        &params->q_weight, &params->k_weight, &params->v_weight, &params->q_bias,     &params->k_bias,
        &params->v_bias,   &params->bias_k,   &params->bias_v,   &params->out_weight, &params->out_bias,
        &params->slopes,   &params->sinks,    &params->rotary,
    };
    _Static_assert(sizeof spans / sizeof spans[0] == VKF_ATTENTION_TENSORS, "a parameter of attention is not held");
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
        vkf__hold_buffer(held, spans[i]->buffer);
}

void vkf__hold_feed_forward(vkf__held_buffers *held, const vkf__feed_forward_block *block)
{
    const vkf__span *const spans[] = {&block->weight1, &block->bias1, &block->weight2, &block->bias2};
    _Static_assert(sizeof spans / sizeof spans[0] == VKF_FEED_FORWARD_TENSORS, "a parameter is not held");
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
        vkf__hold_buffer(held, spans[i]->buffer);
}

void vkf__hold_transformer(vkf__held_buffers *held, const vkf__transformer_block *block)
{
    _Static_assert(sizeof block->norm == 3 * VKF_NORM_TENSORS * sizeof(vkf__span), "VKF_MAX_HELD_BUFFERS counts norms");
    vkf__hold_attention(held, &block->self);
    vkf__hold_attention(held, &block->cross);
    vkf__hold_feed_forward(held, &block->feed_forward);
    for (size_t i = 0; i < sizeof block->norm / sizeof block->norm[0]; i++) {
        vkf__hold_buffer(held, block->norm[i].weight.buffer);
        vkf__hold_buffer(held, block->norm[i].bias.buffer);
    }
}

void vkf__drop_buffers(vkf__held_buffers *held)
{
    for (uint32_t i = 0; i < held->count; i++)
        vkf__buffer_drop(held->items[i]);
    held->count = 0;
}

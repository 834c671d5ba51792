// What follows from a configuration, and what is checked of each, whether a file or a caller gives it.
#ifndef VKF_MODEL_CONFIG_H
#define VKF_MODEL_CONFIG_H

#include <vkformer/model.h>

#include "base/host.h"
#include "model/family/model_kind.h"

// Limits that no model comes near; products of three of them still fit into 64 bits.
#define VKF_MAX_DIM (1u << 20)
#define VKF_MAX_VOCAB (1u << 24)
#define VKF_MAX_LAYERS 1024u
#define VKF_MAX_LEN (1u << 20)

// The layers of one side of a model, with what its configuration leaves at 0 filled in.
typedef struct vkf__stack {
    uint32_t layers, heads, kv_heads, head_dim, dim_feedforward, positions;
} vkf__stack;

// The encoder's stack, or the decoder's with `target`.
vkf__stack vkf__stack_of(const vkf_model_config *config, bool target);

// The vocabulary and the number of positions of the side that reads texts.
uint32_t vkf__text_vocab(const vkf_model_config *config);
uint32_t vkf__text_positions(const vkf_model_config *config);

// Fails with INVALID_ARGUMENT and the reason; the message begins with `where`.
VKF_MUST_CHECK vkf_status vkf__config_check(const vkf__host *host, const vkf_model_config *config, const char *where);

#endif

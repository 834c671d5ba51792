// Encoder and decoder layers: attention and feed-forward blocks around a residual stream that is updated in place.
#ifndef VKF_LAYER_TRANSFORMER_LAYER_H
#define VKF_LAYER_TRANSFORMER_LAYER_H

#include "layer/attention_block.h"
#include "layer/feed_forward.h"

typedef struct vkf__norm_block {
    vkf__span weight, bias;
} vkf__norm_block;

typedef struct vkf__transformer_block {
    uint32_t d_model;
    bool norm_first;
    bool no_first_norm; // with norm_first: attention takes the stream as it is
    // With norm_first: x + self(norm[0](x)) + feed_forward(norm[1](x)). Only without cross attention.
    bool parallel;
    vkf_norm_kind norm_kind;
    float layer_norm_eps;
    vkf_dtype dtype;
    vkf__attention_block self;
    vkf__attention_block cross; // decoder layers
    vkf__feed_forward_block feed_forward;
    vkf__norm_block norm[3];
} vkf__transformer_block;

// The block that a descriptor states, with nothing marked as fused yet.
vkf__transformer_block vkf__transformer_block_of(const vkf_transformer_layer_desc *desc);

// What one run of a layer reads and writes. In `self` and `cross` the caller sets what their comments name, and the
// layer sets the rest.
typedef struct vkf__transformer_io {
    vkf__span x;     // (B, L, d_model): the residual stream, read and written
    vkf__span input; // where the stream comes from, only read; absent: it is in x. Only for post-norm layers
    // Where x is the stream of some positions only: the stream of all, (B, key_new, d_model), which give keys and
    // values.
    vkf__span context;
    vkf__attention_io self;  // masks and cache
    vkf__attention_io cross; // masks, cache and weights; key is the memory
} vkf__transformer_io;

VKF_MUST_CHECK vkf_status vkf__emit_encoder_layer(vkf__work *work, const vkf__transformer_block *block,
                                                  const vkf__transformer_io *io, const vkf__attention_sizes *self);
VKF_MUST_CHECK vkf_status vkf__emit_decoder_layer(vkf__work *work, const vkf__transformer_block *block,
                                                  const vkf__transformer_io *io, const vkf__attention_sizes *self,
                                                  const vkf__attention_sizes *cross);

#endif

// The encoder and decoder layers whose barriers are listed in tests and in docs/command-buffers.md. They are emitted
// and recorded, never run.
#ifndef VKF_TESTS_LISTED_LAYERS_H
#define VKF_TESTS_LISTED_LAYERS_H

#include "layer/transformer_layer.h"

enum {
    LISTED_BATCH = 2,
    LISTED_LEN = 5, // more rows than products normalise themselves
    LISTED_MEMORY_LEN = 7,
    LISTED_DIM = 64,
    LISTED_HEADS = 4,
    LISTED_HIDDEN = 128,
    LISTED_POOL = 3 * LISTED_DIM * LISTED_DIM, // floats that hold any parameter
};

typedef struct listed_layer {
    const char *name;
    bool decoder;
    bool norm_first;
    bool apart;       // parameters of q, k and v do not lie side by side
    bool weights;     // the attention weights are asked for, which takes the unfused path
    const char *list; // dispatches in order: " | " is a barrier, ", " is none
} listed_layer;

enum { LISTED_LAYERS = 5 };
extern const listed_layer listed_layers[LISTED_LAYERS];

// All that a layer reads and writes; the weights of self and cross attention (B, H, L, S) when they are asked for.
typedef struct listed_io {
    vkf_tensor pool; // (LISTED_POOL): every parameter is a part of it
    vkf_tensor x;    // (B, L, LISTED_DIM)
    vkf_tensor memory;
    vkf_tensor self_weights, cross_weights;
} listed_io;

vkf_transformer_layer_desc listed_layer_desc(const listed_layer *layer, const vkf_tensor *pool);
// A vkf__emit_fn: one of the layers.
typedef struct listed_args {
    const listed_layer *layer;
    const listed_io *io;
} listed_args;
VKF_MUST_CHECK vkf_status listed_layer_emit(vkf__work *work, const void *args);

#endif

// An encoder or decoder layer with random weights and inputs, of a shape that is given as text.
#ifndef VKF_PROGRAM_RANDOM_LAYER_H
#define VKF_PROGRAM_RANDOM_LAYER_H

#include <jansson.h>

#include "lab/bench/bench_data.h"
#include "lab/bench/bench_shapes.h"

// The sizes in the order of the extents, and the kind of layer.
typedef struct vkf_layer_shape {
    uint32_t batch;
    uint32_t len;
    uint32_t d_model;
    uint32_t heads;
    uint32_t ff;
    uint32_t memory_len;
    bool decoder;
    vkf_activation activation;
} vkf_layer_shape;

// Shapes "BxLxDxHxF" and "BxLxDxHxFxS".
#define VKF_LAYER_EXTENTS                                                                                              \
    {                                                                                                                  \
        .list = {{'B', "batch", 1u << 16, 1, 0}, {'L', "len", 1u << 20, 0, 0}, {'D', "d-model", 1u << 20, 0, 0},       \
                 {'H', "heads", 1u << 12, 0, 0}, {'F', "ff", 1u << 22, 0, 0},  {'S', "memory-len", 1u << 20, 0, 'L'}}, \
        .count = 6, .forms = {"BLDHF", "BLDHFS"},                                                                      \
    }

// `kind` is "encoder" or "decoder", `activation` "relu" or "gelu". False after a message that names the option.
bool vkf_layer_shape_make(const vkf_bench_shape *shape, const char *kind, const char *activation,
                          vkf_layer_shape *out_shape);

// A new object {"batch", "len", "d_model", "heads", "ff", "memory_len", "kind", "activation"}.
json_t *vkf_layer_shape_json(const vkf_layer_shape *shape);

// Makes a layer like torch.nn.TransformerEncoderLayer or TransformerDecoderLayer with biases, and with norms after the
// residual sums. The self-attention of a decoder layer is causal. Its weights belong to `data`. NULL after a message;
// data->status says why. `out_plan` (may be NULL) gets the layer's memory.
vkf_layer *vkf_random_layer(vkf_bench_data *data, const vkf_layer_shape *shape, vkf_memory_plan *out_plan);

#endif

// Small layers of every kind with random weights, for tests of what holds for any layer.
#ifndef VKF_TESTS_SAMPLE_LAYERS_H
#define VKF_TESTS_SAMPLE_LAYERS_H

#include "fixture.h"

enum { SAMPLE_DIM = 32, SAMPLE_HEADS = 4, SAMPLE_HIDDEN = 48, SAMPLE_TENSORS = 40 };

typedef enum sample_kind {
    SAMPLE_ATTENTION = 0, // cross attention with a mask of (L, S), key lengths and the averaged weights
    SAMPLE_FEED_FORWARD,
    SAMPLE_ENCODER,
    SAMPLE_DECODER, // causal
    SAMPLE_KINDS
} sample_kind;

const char *sample_name(sample_kind kind);

typedef struct sample_weights {
    vkf_tensor tensors[SAMPLE_TENSORS]; // owned
    size_t count;
    vkf_attention_weights self, cross;
    vkf_feed_forward_weights feed_forward;
    vkf_norm_weights norm[3];
} sample_weights;

void sample_weights_create(vkf_test_gpu *gpu, sample_weights *out_weights);
void sample_weights_destroy(sample_weights *weights);

vkf_status sample_layer_create(vkf_context *context, sample_kind kind, const sample_weights *weights,
                               vkf_layer_sizes max_sizes, vkf_layer **out_layer);

// What a layer has besides.
typedef struct sample_options {
    vkf_tensor ports[VKF_PORT_COUNT]; // the test's own
    uint32_t frames_in_flight;
} sample_options;
vkf_status sample_layer_create_with(vkf_context *context, sample_kind kind, const sample_weights *weights,
                                    vkf_layer_sizes max_sizes, const sample_options *options, vkf_layer **out_layer);
vkf_status sample_layer_plan_with(vkf_context *context, sample_kind kind, const sample_weights *weights,
                                  vkf_layer_sizes max_sizes, const sample_options *options, vkf_memory_plan *out_plan);
vkf_status sample_layer_plan(vkf_context *context, sample_kind kind, const sample_weights *weights,
                             vkf_layer_sizes max_sizes, vkf_memory_plan *out_plan);

// Inputs of one run, and room for its output.
typedef struct sample_data {
    vkf_layer_sizes sizes;
    float *query;     // (B, L, SAMPLE_DIM)
    float *memory;    // (B, S, SAMPLE_DIM), key and value too
    uint8_t *mask;    // (L, S)
    int32_t *lengths; // (B)
    float *out;       // (B, L, SAMPLE_DIM)
} sample_data;

void sample_data_create(vkf_test_random *random, vkf_layer_sizes sizes, sample_data *out_data);
void sample_data_destroy(sample_data *data);
size_t sample_data_outputs(const sample_data *data); // floats in `out`

// Writes the ports; writes, runs and reads the output.
vkf_status sample_layer_write(vkf_layer *layer, sample_kind kind, const sample_data *data);
vkf_status sample_layer_run(vkf_layer *layer, sample_kind kind, sample_data *data);

#endif

// What `vkformer profile` runs: a model from a directory on random tokens, or a layer with random weights.
#ifndef VKF_PROGRAM_PROFILE_SUBJECT_H
#define VKF_PROGRAM_PROFILE_SUBJECT_H

#include <jansson.h>

#include "command/precision.h"
#include "lab/bench/bench_shapes.h"

typedef struct vkf_profile_settings {
    const char *directory; // NULL: a layer
    uint32_t batch;
    uint32_t length;     // tokens of each source or prompt; 0: 32, or as many as the model takes if that is fewer
    uint32_t new_tokens; // generated after them, by models that generate
    vkf_model_precision precision;
    vkf_quantization quantization;
    // For layers only.
    const char *shape_text;
    vkf_bench_shape shape;
    const char *layer_kind, *activation;
} vkf_profile_settings;

// A kind of subject. Failures of begin() have been printed; its *out_state goes to end() in any case.
typedef struct vkf_profile_kind {
    vkf_status (*begin)(vkf_context *context, const vkf_profile_settings *settings, void **out_state,
                        vkf_memory_plan *out_plan);
    void (*end)(void *state);
    vkf_status (*run)(void *state);         // prints no message
    json_t *(*describe)(const void *state); // a new object
    // The tokens of a run, (*out_batch, *out_length); NULL: it has none.
    const int32_t *(*ids)(const void *state, uint32_t *out_batch, uint32_t *out_length);
} vkf_profile_kind;

extern const vkf_profile_kind vkf_profile_model;
extern const vkf_profile_kind vkf_profile_layer;

// Parses the shape of a layer into the settings. False after a message.
bool vkf_profile_layer_parse(const char *text, vkf_profile_settings *settings);

typedef struct vkf_profile_subject {
    const vkf_profile_kind *kind;
    void *state;
    vkf_memory_plan plan;
} vkf_profile_subject;

// Failures have been printed. vkf_profile_subject_end() must follow in any case.
vkf_status vkf_profile_subject_begin(vkf_context *context, const vkf_profile_settings *settings,
                                     vkf_profile_subject *out_subject);
void vkf_profile_subject_end(vkf_profile_subject *subject);

// Runs once: an encoder, a prompt and its continuation, nn.Transformer, or a layer. Prints no message.
vkf_status vkf_profile_subject_run(vkf_profile_subject *subject);

// A new object, the document's "subject", which docs/profiling.md describes.
json_t *vkf_profile_subject_json(const vkf_profile_subject *subject);

// The name of a document's subject: a model's directory, or "layer 1x128x768x12x3072".
void vkf_profile_subject_name(const json_t *subject, char *out_text, size_t size_bytes);

#endif

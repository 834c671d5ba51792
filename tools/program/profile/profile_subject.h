// What `vkformer profile` runs: a model from a directory on random tokens, or a layer with random weights.
#ifndef VKF_PROGRAM_PROFILE_SUBJECT_H
#define VKF_PROGRAM_PROFILE_SUBJECT_H

#include <jansson.h>

#include "bench/bench_shapes.h"
#include "command/precision.h"

typedef struct vkf_profile_settings {
    const char *directory; // of a model; NULL: a layer
    uint32_t batch;
    uint32_t length;     // tokens of each source or prompt; 0: 32, or what the model takes if that is less
    uint32_t new_tokens; // generated after them; of models that generate
    vkf_model_precision precision;
    vkf_quantization quantization;
    // A layer's alone.
    const char *shape_text;
    vkf_bench_shape shape;
    const char *layer_kind, *activation;
} vkf_profile_settings;

// One way to have something run. Failures of begin() have been printed; what it put out goes to end() in any case.
typedef struct vkf_profile_kind {
    vkf_status (*begin)(vkf_context *context, const vkf_profile_settings *settings, void **out_state,
                        vkf_memory_plan *out_plan);
    void (*end)(void *state);
    vkf_status (*run)(void *state);         // no message
    json_t *(*describe)(const void *state); // new
    // The tokens of a run, (*out_batch, *out_length); NULL: there are none.
    const int32_t *(*ids)(const void *state, uint32_t *out_batch, uint32_t *out_length);
} vkf_profile_kind;

extern const vkf_profile_kind vkf_profile_model;
extern const vkf_profile_kind vkf_profile_layer;

// Reads the shape of a layer into the settings. False after a message.
bool vkf_profile_layer_parse(const char *text, vkf_profile_settings *settings);

typedef struct vkf_profile_subject {
    const vkf_profile_kind *kind;
    void *state;
    vkf_memory_plan plan;
} vkf_profile_subject;

// Failures have been printed. vkf_profile_subject_end() in any case.
vkf_status vkf_profile_subject_begin(vkf_context *context, const vkf_profile_settings *settings,
                                     vkf_profile_subject *out_subject);
void vkf_profile_subject_end(vkf_profile_subject *subject);

// One run: an encoder's, a prompt and its continuation, one of nn.Transformer, or one of a layer. No message.
vkf_status vkf_profile_subject_run(vkf_profile_subject *subject);

// "subject" of the document, see docs/profiling.md; new.
json_t *vkf_profile_subject_json(const vkf_profile_subject *subject);

// What a document's subject is called: a model's directory, or "layer 1x128x768x12x3072".
void vkf_profile_subject_name(const json_t *subject, char *out_text, size_t size_bytes);

#endif

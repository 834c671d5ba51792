// What `vkformer profile` runs: a model from a directory on random tokens, or a layer with random weights.
#ifndef VKF_PROGRAM_PROFILE_SUBJECT_H
#define VKF_PROGRAM_PROFILE_SUBJECT_H

#include <jansson.h>

#include <vkformer/vkformer.h>

typedef struct vkf_profile_settings {
    const char *directory; // of a model
    uint32_t batch;
    uint32_t length;     // tokens of each source or prompt; 0: 32, or what the model takes if that is less
    uint32_t new_tokens; // generated after them; of models that generate
    vkf_model_precision precision;
    vkf_quantization quantization;
} vkf_profile_settings;

typedef struct vkf_profile_subject {
    vkf_profile_settings settings; // completed
    vkf_model *model;
    vkf_model_config config;
    vkf_session *session;
    vkf_memory_plan plan; // of the model and the session together
    int32_t *ids;         // (batch, length)
    int32_t *lengths;     // (batch), of an encoder
    uint32_t *prompt_lengths;
    float *values; // (batch, length, d_model), of nn.Transformer
    int32_t *out_ids;
    uint32_t *out_lengths;
} vkf_profile_subject;

// Failures have been printed. vkf_profile_subject_end() in any case.
vkf_status vkf_profile_subject_begin(vkf_context *context, const vkf_profile_settings *settings,
                                     vkf_profile_subject *out_subject);
void vkf_profile_subject_end(vkf_profile_subject *subject);

// One run: an encoder's, a prompt and its continuation, or one of nn.Transformer. No message.
vkf_status vkf_profile_subject_run(vkf_profile_subject *subject);

// {"model", "kind", "batch", "length", "new_tokens", "dtype", "quantization"}; new.
json_t *vkf_profile_subject_json(const vkf_profile_subject *subject);

#endif

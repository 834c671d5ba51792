// Profiles a model from a directory, on random tokens.
#include <stdlib.h>

#include "base/host.h"
#include "command/options.h"
#include "command/precision.h"
#include "lab/bench/random_ids.h"
#include "lab/profile/profile_subject.h"
#include "output/json_output.h"

#define DEFAULT_LENGTH 32u

typedef struct model_subject {
    vkf_profile_settings settings; // with defaults filled in
    vkf_model *model;
    vkf_model_config config;
    vkf_session *session;
    vkf_memory_plan plan; // of the model and the session together
    int32_t *ids;         // (batch, length)
    uint32_t *prompt_lengths;
    float *values; // (batch, length, d_model), for nn.Transformer
    int32_t *out_ids;
    uint32_t *out_lengths;
} model_subject;

static bool generates(const vkf_model_config *config)
{
    return config->kind == VKF_MODEL_DECODER || config->kind == VKF_MODEL_SEQ2SEQ;
}

// The most tokens that a source or a prompt may have beside the generated ones.
static uint32_t longest(const model_subject *s)
{
    const vkf_model_config *config = &s->config;
    if (config->kind != VKF_MODEL_DECODER)
        return config->max_source_len;
    return config->max_target_len > s->settings.new_tokens ? config->max_target_len - s->settings.new_tokens : 0;
}

static vkf_status complete(model_subject *s)
{
    vkf_profile_settings *settings = &s->settings;
    if (!generates(&s->config))
        settings->new_tokens = 0;
    else if (settings->new_tokens == 0) {
        vkf_print_error("--new-tokens: '%s' generates, and so at least 1", settings->directory);
        return VKF_ERROR_INVALID_ARGUMENT;
    }
    // Every kind of model but nn.Transformer has a known limit.
    bool limited = s->config.kind != VKF_MODEL_TRANSFORMER;
    uint32_t most = limited ? longest(s) : UINT32_MAX;
    if (settings->length == 0)
        settings->length = DEFAULT_LENGTH < most ? DEFAULT_LENGTH : most;
    if (settings->length > 0 && settings->length <= most)
        return VKF_OK;
    vkf_print_error("--length: '%s' takes %u tokens at most, beside %u new ones", settings->directory, most,
                    settings->new_tokens);
    return VKF_ERROR_INVALID_ARGUMENT;
}

static vkf_session_desc session_of(const model_subject *s)
{
    const vkf_profile_settings *settings = &s->settings;
    bool decoder = s->config.kind == VKF_MODEL_DECODER, seq2seq = s->config.kind == VKF_MODEL_SEQ2SEQ;
    return (vkf_session_desc){
        .max_batch = settings->batch,
        .max_source_len = decoder ? 1 : settings->length,
        .max_target_len = decoder   ? settings->length + settings->new_tokens
                          : seq2seq ? 1 + settings->new_tokens
                                    : settings->length,
    };
}

static bool allocate(model_subject *s)
{
    size_t batch = s->settings.batch, positions = batch * s->settings.length;
    s->ids = calloc(positions, sizeof *s->ids);
    s->prompt_lengths = calloc(batch, sizeof *s->prompt_lengths);
    s->out_ids = calloc(batch * (s->settings.new_tokens + 1), sizeof *s->out_ids);
    s->out_lengths = calloc(batch, sizeof *s->out_lengths);
    if (s->config.kind == VKF_MODEL_TRANSFORMER)
        s->values = calloc(positions * s->config.d_model, sizeof *s->values);
    return s->ids && s->prompt_lengths && s->out_ids && s->out_lengths &&
           (s->values || s->config.kind != VKF_MODEL_TRANSFORMER);
}

static void fill(model_subject *s)
{
    size_t positions = (size_t)s->settings.batch * s->settings.length;
    uint32_t vocab = s->config.kind == VKF_MODEL_DECODER ? s->config.target_vocab : s->config.source_vocab;
    if (vocab > 0)
        vkf_random_ids(vocab, positions, s->ids);
    for (uint32_t b = 0; b < s->settings.batch; b++)
        s->prompt_lengths[b] = s->settings.length;
    for (size_t i = 0; s->values && i < positions * s->config.d_model; i++)
        s->values[i] = (float)(i * 2654435761u % 2001) / 1000.0f - 1.0f;
}

static vkf_status open_model(vkf_context *context, model_subject *s)
{
    vkf_status status = VKF_OK;
    const vkf_model_desc desc = {
        .directory = s->settings.directory,
        .precision = s->settings.precision,
        .quantization = s->settings.quantization,
    };
    VKF_TRY(vkf_model_plan(context, &desc, &s->plan));
    VKF_TRY(vkf_model_load(context, &desc, &s->model));
    s->settings.precision = vkf_model_get_precision(s->model);
    vkf_model_get_config(s->model, &s->config);
fail:
    if (status != VKF_OK)
        vkf_print_error("the model '%s' cannot be loaded: %s", s->settings.directory, vkf_status_text(status));
    return status;
}

static vkf_status open_session(model_subject *s)
{
    vkf_status status = VKF_OK;
    const vkf_session_desc desc = session_of(s);
    vkf_memory_plan plan;
    VKF_TRY(vkf_session_plan(s->model, &desc, &plan));
    s->plan.activations_bytes += plan.activations_bytes;
    s->plan.cache_bytes += plan.cache_bytes;
    s->plan.control_bytes += plan.control_bytes;
    VKF_TRY(vkf_session_create(s->model, &desc, &s->session));
    if (!allocate(s))
        status = VKF_ERROR_OUT_OF_HOST_MEMORY;
fail:
    if (status != VKF_OK)
        vkf_print_error("a session cannot be made: %s", vkf_status_text(status));
    return status;
}

static void end(void *state)
{
    model_subject *s = state;
    vkf_session_destroy(&s->session);
    vkf_model_destroy(&s->model);
    free(s->ids);
    free(s->prompt_lengths);
    free(s->values);
    free(s->out_ids);
    free(s->out_lengths);
    free(s);
}

static vkf_status begin(vkf_context *context, const vkf_profile_settings *settings, void **out_state,
                        vkf_memory_plan *out_plan)
{
    model_subject *s = calloc(1, sizeof *s);
    *out_state = s;
    if (!s)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    s->settings = *settings;
    VKF_RETURN_IF_ERROR(open_model(context, s));
    VKF_RETURN_IF_ERROR(complete(s));
    VKF_RETURN_IF_ERROR(open_session(s));
    fill(s);
    *out_plan = s->plan;
    return VKF_OK;
}

static vkf_status encode(model_subject *s)
{
    const vkf_encode_args args = {
        .batch = s->settings.batch,
        .source_len = s->settings.length,
        .source_ids = s->ids,
        .source_lengths = s->prompt_lengths,
        .source = s->values,
    };
    return vkf_session_encode(s->session, &args);
}

static vkf_status run(void *state)
{
    model_subject *s = state;
    if (generates(&s->config)) {
        const vkf_generate_args args = {
            .batch = s->settings.batch,
            .prompt_ids = s->ids,
            .prompt_lengths = s->prompt_lengths,
            .max_new_tokens = s->settings.new_tokens,
            .out_ids = s->out_ids,
            .out_lengths = s->out_lengths,
        };
        return vkf_session_generate(s->session, &args);
    }
    vkf_status status = encode(s);
    if (status != VKF_OK || s->config.kind == VKF_MODEL_ENCODER)
        return status;
    const vkf_decode_args args = {.target_len = s->settings.length, .target = s->values};
    return vkf_session_decode(s->session, &args);
}

static const char *quantization_name(vkf_quantization quantization)
{
    return quantization == VKF_QUANTIZATION_Q8 ? "q8" : quantization == VKF_QUANTIZATION_Q4 ? "q4" : "none";
}

static json_t *describe(const void *state)
{
    static const char *const kinds[VKF_MODEL_KIND_COUNT] = {"transformer", "seq2seq", "encoder", "decoder"};
    const model_subject *s = state;
    const vkf_profile_settings *settings = &s->settings;
    const vkf_precision_types types = vkf_types_of_precision(settings->precision);
    json_t *object = json_object();
    vkf_json_put_string(object, "model", settings->directory);
    vkf_json_put_string(object, "kind", kinds[s->config.kind]);
    vkf_json_put_integer(object, "batch", settings->batch);
    vkf_json_put_integer(object, "length", settings->length);
    vkf_json_put_integer(object, "new_tokens", settings->new_tokens);
    vkf_json_put_string(object, "activations", vkf_dtype_name(types.activations));
    vkf_json_put_string(object, "weights", vkf_dtype_name(types.weights));
    vkf_json_put_string(object, "quantization", quantization_name(settings->quantization));
    return object;
}

static const int32_t *ids_of(const void *state, uint32_t *out_batch, uint32_t *out_length)
{
    const model_subject *s = state;
    *out_batch = s->settings.batch;
    *out_length = s->settings.length;
    return s->ids;
}

const vkf_profile_kind vkf_profile_model = {begin, end, run, describe, ids_of};

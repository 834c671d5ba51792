// vkformer run: makes a session ready, as the options say.
#include <stdlib.h>

#include "base/size.h"
#include "command/session_context.h"
#include "output/progress.h"
#include "run/run_state.h"
#include "system/terminal.h"

#define DEFAULT_BATCH 8

// On a terminal, every line is answered at once.
uint32_t vkf_run_batch_size(const run_options *options)
{
    bool terminal = !options->texts && vkf_is_terminal(VKF_STANDARD_INPUT);
    uint32_t batch = options->batch ? options->batch : terminal ? 1 : DEFAULT_BATCH, ranks = options->ranks.size;
    if (!options->batch && options->texts && ranks > 1) // each rank has a batch to work on
        batch = options->text_count < ranks * batch ? (options->text_count - 1) / ranks + 1 : batch;
    return options->texts && batch > options->text_count ? options->text_count : batch;
}

vkf_text_source vkf_run_source(const run_options *options)
{
    return (vkf_text_source){
        .texts = options->texts,
        .text_count = options->text_count,
        .file = stdin,
        .unit = options->texts ? "text" : "line",
    };
}

static bool check_model(run_state *state)
{
    const char *directory = state->options->model_directory;
    const vkf_model_config *config = &state->config;
    uint32_t known_source = 0, known_target = 0;
    while (vkf_vocabulary_source_token(state->vocabulary, (int32_t)known_source) && known_source < INT32_MAX)
        known_source++;
    while (vkf_vocabulary_target_token(state->vocabulary, (int32_t)known_target) && known_target < INT32_MAX)
        known_target++;
    if (known_source != config->source_vocab || known_target != config->target_vocab) {
        vkf_print_error("'%s': vocabulary.json has %u source and %u target tokens, config.json says %u and %u",
                        directory, known_source, known_target, config->source_vocab, config->target_vocab);
        return false;
    }
    if (state->options->max_len > config->max_target_len) {
        vkf_print_error("--max-len %u is more than this model's %u tokens", state->options->max_len,
                        config->max_target_len);
        return false;
    }
    return true;
}

bool vkf_run_way(const run_options *options, run_way *out_way, vkf_model_config *out_config)
{
    const vkf_inspection_desc desc = {
        .directory = options->model_directory,
        .message = vkf_message_log_receive,
        .message_user = options->common.messages,
        .min_severity = VKF_SEVERITY_ERROR,
    };
    vkf_inspection *inspection = NULL;
    vkf_inspection_info info;
    vkf_status status = vkf_inspection_load(&desc, &inspection);
    vkf_inspection_get_info(inspection, &info);
    vkf_inspection_get_config(inspection, out_config);
    const bool family = status == VKF_OK && info.model_type;
    if (status == VKF_OK)
        status = info.supported;
    vkf_inspection_destroy(&inspection);
    if (status != VKF_OK) {
        vkf_print_error("the model '%s' cannot be loaded: %s", options->model_directory, vkf_status_text(status));
        return false;
    }
    const vkf_model_config *config = out_config;
    bool headless = config->kind == VKF_MODEL_ENCODER && info.asked_head == VKF_HEAD_NONE;
    if (headless && !options->attention.path) {
        vkf_print_error(
            "'%s' has no head that says something of a text; vkformer embed runs it, and --attention draws it",
            options->model_directory);
        return false;
    }
    *out_way = headless                            ? RUN_ENCODER
               : config->kind == VKF_MODEL_ENCODER ? RUN_PREDICTION
               : family                            ? RUN_GENERATION
                                                   : RUN_SEQ2SEQ;
    return true;
}

bool vkf_run_load_vocabulary(run_state *state)
{
    const char *directory = state->options->model_directory;
    vkf_model_get_config(state->model, &state->config);
    vkf_status status = vkf_vocabulary_load(state->context, directory, &state->vocabulary);
    if (status != VKF_OK) {
        vkf_print_error("the model '%s' cannot be loaded: %s", directory, vkf_status_text(status));
        return false;
    }
    return check_model(state);
}

static bool load_model(run_state *state)
{
    const run_options *options = state->options;
    double start_ms = vkf_now_ms();
    vkf_model_desc desc = {
        .directory = options->model_directory,
        .precision = options->precision,
        .quantization = options->quantization,
        .adapter_directory = options->adapter,
    };
    vkf_status status = vkf_model_load(state->context, &desc, &state->model);
    if (status != VKF_OK)
        vkf_print_error("the model '%s' cannot be loaded: %s", options->model_directory, vkf_status_text(status));
    const bool loaded = status == VKF_OK && vkf_run_load_vocabulary(state);
    state->timing.model_ms = vkf_now_ms() - start_ms;
    return loaded;
}

vkf_session_desc vkf_run_session(const run_state *state)
{
    const uint32_t max_len = state->options->max_len;
    return (vkf_session_desc){
        .max_batch = vkf_run_batch_size(state->options),
        .max_source_len = state->config.max_source_len,
        .max_target_len = max_len ? max_len : state->config.max_target_len,
    };
}

static bool allocate_rows(const run_state *state, run_batch *batch)
{
    size_t source_count = 0, target_count = 0;
    if (vkf__mul_size(state->batch, state->config.max_source_len, &source_count) &&
        vkf__mul_size(state->batch, state->max_len, &target_count)) {
        batch->lines = calloc(state->batch, sizeof *batch->lines);
        batch->slots = calloc(state->batch, sizeof *batch->slots);
        batch->lengths = calloc(state->batch, sizeof *batch->lengths);
        batch->source_ids = calloc(source_count, sizeof *batch->source_ids);
        batch->target_ids = calloc(target_count, sizeof *batch->target_ids);
    }
    if (batch->lines && batch->slots && batch->lengths && batch->source_ids && batch->target_ids)
        return true;
    vkf_print_error("memory for %u lines is exhausted; a smaller --batch needs less", state->batch);
    return false;
}

static bool make_batch(const run_state *state, const vkf_session_desc *desc, run_batch *batch)
{
    if (!allocate_rows(state, batch))
        return false;
    vkf_status status = vkf_session_create(state->model, desc, &batch->session);
    if (status != VKF_OK)
        vkf_print_error("the model cannot be made ready for %u lines of up to %u tokens: %s", state->batch,
                        state->config.max_source_len, vkf_status_text(status));
    return status == VKF_OK;
}

bool vkf_run_make_batches(run_state *state, uint32_t count)
{
    const vkf_session_desc desc = vkf_run_session(state);
    double start_ms = vkf_now_ms();
    state->batch = desc.max_batch;
    state->max_len = desc.max_target_len;
    state->batches = calloc(count, sizeof *state->batches);
    if (!state->batches) {
        vkf_print_error("memory is exhausted");
        return false;
    }
    bool made = true;
    for (; made && state->batch_count < count; state->batch_count++)
        made = make_batch(state, &desc, &state->batches[state->batch_count]);
    state->timing.session_ms = vkf_now_ms() - start_ms;
    return made;
}

bool vkf_run_prepare(const run_options *options, run_state *out_state)
{
    run_state *state = out_state;
    *state = (run_state){.options = options};
    state->source = vkf_run_source(options);
    double start_ms = vkf_now_ms();
    if (vkf_open_context_aloud(&options->common, &state->context) != VKF_OK)
        return false;
    state->timing.context_ms = vkf_now_ms() - start_ms;
    return load_model(state) && vkf_run_make_batches(state, 1);
}

void vkf_run_release(run_state *state)
{
    for (uint32_t i = 0; i < state->batch_count; i++) {
        run_batch *batch = &state->batches[i];
        if (batch->lines)
            vkf_run_clear_batch(state, batch);
        free(batch->lines);
        free(batch->slots);
        free(batch->lengths);
        free(batch->source_ids);
        free(batch->target_ids);
        vkf_session_destroy(&batch->session);
    }
    free(state->batches);
    vkf_vocabulary_destroy(&state->vocabulary);
    vkf_model_destroy(&state->model);
    vkf_context_destroy(&state->context);
    *state = (run_state){0};
}

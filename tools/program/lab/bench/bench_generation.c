// Runs a model and times its encoder and its steps.
#include "lab/bench/bench_generation.h"

#include <stdlib.h>

#include "base/clock.h"
#include "lab/bench/bench_operator.h"
#include "lab/bench/bench_random_model.h"
#include "lab/bench/random_ids.h"
#include "output/json_output.h"
#include "output/progress.h"

static double thread_us(void)
{
    return vkf__thread_ns() * 1e-3;
}

// Preparing a run ----------------------------------------------------------------------------------------------------

static vkf_status take_model(vkf_bench *bench, vkf_model_precision precision)
{
    const vkf_bench_options *options = bench->options;
    vkf_status status;
    if (bench->model && bench->model_precision == precision)
        return VKF_OK;
    vkf_model_destroy(&bench->model);
    bench->model_precision = precision;
    if (!options->directory)
        return vkf_bench_random_model(bench->context, options, precision, false, &bench->model);
    const vkf_model_desc desc = {.directory = options->directory, .precision = precision};
    vkf_model_config config;
    status = vkf_model_load(bench->context, &desc, &bench->model);
    if (status != VKF_OK) {
        vkf_print_error("the model '%s' cannot be loaded: %s", options->directory, vkf_status_text(status));
        return status;
    }
    vkf_model_get_config(bench->model, &config);
    if (config.kind == VKF_MODEL_SEQ2SEQ)
        return VKF_OK;
    vkf_print_error("'%s' generates no tokens to measure", options->directory);
    vkf_model_destroy(&bench->model);
    return VKF_ERROR_UNSUPPORTED;
}

static bool allocate(vkf_bench_generation *g)
{
    size_t batch = g->lengths.batch;
    g->source_ids = calloc(batch * g->lengths.source_len, sizeof *g->source_ids);
    g->target_ids = calloc(batch * g->lengths.target_len, sizeof *g->target_ids);
    g->row_lengths = calloc(batch, sizeof *g->row_lengths);
    g->step_times = calloc(g->lengths.target_len, sizeof *g->step_times);
    return g->source_ids && g->target_ids && g->row_lengths && g->step_times;
}

vkf_status vkf_bench_generation_begin(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_lengths *lengths,
                                      vkf_bench_generation *out_generation)
{
    vkf_bench_generation *g = out_generation;
    vkf_device_info info;
    vkf_model_precision precision = VKF_MODEL_PRECISION_F32;
    *g = (vkf_bench_generation){.lengths = *lengths};
    (void)vkf_precision_from_types(types->activations, types->weights, &precision); // options allow no other types
    vkf_status status = take_model(bench, precision);
    if (status != VKF_OK)
        return status;
    vkf_context_get_device_info(bench->context, &info);
    vkf_model_get_config(bench->model, &g->config);
    g->timed = info.timestamps;
    const vkf_session_desc desc = {
        .max_batch = lengths->batch,
        .max_source_len = lengths->source_len,
        .max_target_len = lengths->target_len,
    };
    status = allocate(g) ? vkf_session_create(bench->model, &desc, &g->session) : VKF_ERROR_OUT_OF_HOST_MEMORY;
    if (status == VKF_OK)
        vkf_random_ids(g->config.source_vocab, (size_t)lengths->batch * lengths->source_len, g->source_ids);
    else
        vkf_print_error("a session of %ux%ux%u cannot be made: %s", lengths->batch, lengths->source_len,
                        lengths->target_len, vkf_status_text(status));
    return status;
}

void vkf_bench_generation_end(vkf_bench_generation *generation)
{
    vkf_session_destroy(&generation->session);
    free(generation->source_ids);
    free(generation->target_ids);
    free(generation->row_lengths);
    free(generation->step_times);
    free(generation->timings);
    *generation = (vkf_bench_generation){0};
}

// Running ------------------------------------------------------------------------------------------------------------

static void start_clocks(vkf_bench_generation *g)
{
    g->started_ms = vkf_now_ms();
    g->started_us = thread_us();
}

// Adds the time that passed since the clocks were started.
static void stop_clocks(vkf_bench_generation *g)
{
    double host_us = thread_us() - g->started_us, wall_ms = vkf_now_ms() - g->started_ms;
    g->since.host_us += host_us;
    g->since.wall_ms += wall_ms;
}

// Sums the GPU times of the session's last submission.
static vkf_status read_timings(vkf_bench_generation *g, double *out_ms)
{
    uint32_t count = 0;
    double sum_ns = 0;
    *out_ms = -1.0;
    if (!g->timed)
        return VKF_OK;
    vkf_status status = vkf_session_get_timings(g->session, &count, NULL);
    if (status == VKF_OK && count > g->timing_capacity) {
        free(g->timings);
        g->timings = calloc(count, sizeof *g->timings);
        g->timing_capacity = g->timings ? count : 0;
        status = g->timings ? VKF_OK : VKF_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (status == VKF_OK)
        status = vkf_session_get_timings(g->session, &count, g->timings);
    for (uint32_t i = 0; status == VKF_OK && i < count; i++)
        sum_ns += g->timings[i].gpu_ns;
    if (status == VKF_OK)
        *out_ms = sum_ns * 1e-6;
    return status;
}

// Ends a part of the run, which is the encoder or a step.
static vkf_status close_part(vkf_bench_generation *g, bool keep)
{
    vkf_status status = read_timings(g, &g->since.gpu_ms);
    if (status != VKF_OK)
        return status;
    g->run.wall_ms += g->since.wall_ms;
    g->run.host_us += g->since.host_us;
    g->run.gpu_ms = g->timed ? g->run.gpu_ms + g->since.gpu_ms : -1.0;
    if (keep)
        g->step_times[g->step_count++] = g->since;
    g->since = (vkf_bench_time){0};
    return VKF_OK;
}

// A vkf_progress_fn. It is called before the step that generates the token at `position`: at 1 the encoder has just
// run, at 2 the first step.
static bool between_steps(void *user, uint32_t position, uint32_t total, const char *what)
{
    vkf_bench_generation *g = user;
    (void)total;
    (void)what;
    stop_clocks(g);
    g->status = close_part(g, position > 2);
    start_clocks(g);
    return g->status == VKF_OK;
}

vkf_status vkf_bench_generate(vkf_bench_generation *generation)
{
    vkf_bench_generation *g = generation;
    const vkf_greedy_args args = {
        .batch = g->lengths.batch,
        .source_len = g->lengths.source_len,
        .source_ids = g->source_ids,
        .out_ids = g->target_ids,
        .out_lengths = g->row_lengths,
        .progress = between_steps,
        .progress_user = g,
    };
    g->status = VKF_OK;
    g->run = g->since = (vkf_bench_time){0};
    g->step_count = 0;
    g->steps = 0;
    start_clocks(g);
    vkf_status status = vkf_session_greedy(g->session, &args);
    stop_clocks(g);
    if (g->status != VKF_OK)
        return g->status;
    if (status == VKF_OK)
        status = close_part(g, false);
    for (uint32_t b = 0; status == VKF_OK && b < g->lengths.batch; b++)
        g->steps = g->row_lengths[b] - 1 > g->steps ? g->row_lengths[b] - 1 : g->steps;
    return status;
}

// Cost ---------------------------------------------------------------------------------------------------------------

vkf_bench_cost vkf_bench_encode_cost(const vkf_model_config *config, const vkf_bench_lengths *lengths,
                                     const vkf_bench_types *types)
{
    double d = config->d_model, ff = config->dim_feedforward;
    double encoders = config->num_encoder_layers, decoders = config->num_decoder_layers;
    double rows = (double)lengths->batch * lengths->source_len;
    double layer_flops = rows * (8 * d * d + 4 * d * ff + 4 * lengths->source_len * d);
    double layer_weights = 4 * d * d + 2 * d * ff + 9 * d + ff;
    double memory_weights = 2 * d * d + 2 * d;
    return (vkf_bench_cost){
        .flops = encoders * layer_flops + decoders * 4 * rows * d * d,
        .bytes_read = vkf_bench_bytes(encoders * layer_weights + decoders * memory_weights, types->weights) +
                      vkf_bench_bytes(rows * d, types->activations),
        .bytes_written = vkf_bench_bytes(rows * d * (1 + 2 * decoders), types->activations),
    };
}

vkf_bench_cost vkf_bench_step_cost(const vkf_model_config *config, const vkf_bench_lengths *lengths,
                                   const vkf_bench_types *types, double past)
{
    double d = config->d_model, ff = config->dim_feedforward, vocab = config->target_vocab;
    double layers = config->num_decoder_layers, batch = lengths->batch;
    double keys = past + 1 + lengths->source_len;
    double weights = layers * (6 * d * d + 2 * d * ff + 13 * d + ff) + vocab * d;
    return (vkf_bench_cost){
        .flops = batch * (layers * (12 * d * d + 4 * d * ff + 4 * d * keys) + 2 * d * vocab),
        .bytes_read = vkf_bench_bytes(weights, types->weights) +
                      vkf_bench_bytes(batch * (layers * 2 * d * (keys - 1) + d), types->activations),
        .bytes_written = vkf_bench_bytes(batch * layers * 2 * d, types->activations),
    };
}

json_t *vkf_bench_generation_shape(const vkf_bench_generation *generation)
{
    const vkf_model_config *config = &generation->config;
    json_t *shape = json_object();
    vkf_json_put_integer(shape, "batch", generation->lengths.batch);
    vkf_json_put_integer(shape, "source_len", generation->lengths.source_len);
    vkf_json_put_integer(shape, "target_len", generation->lengths.target_len);
    vkf_json_put_integer(shape, "d_model", config->d_model);
    vkf_json_put_integer(shape, "heads", config->num_heads);
    vkf_json_put_integer(shape, "ff", config->dim_feedforward);
    vkf_json_put_integer(shape, "encoder_layers", config->num_encoder_layers);
    vkf_json_put_integer(shape, "decoder_layers", config->num_decoder_layers);
    vkf_json_put_integer(shape, "vocab", config->target_vocab);
    return shape;
}

// Options ------------------------------------------------------------------------------------------------------------

const vkf_option vkf_bench_generation_settings[VKF_BENCH_GENERATION_SETTINGS] = {
    VKF_OPTION_WITHIN(vkf_bench_settings, "d-model", U32, d_model, 1, 1u << 16),
    VKF_OPTION_WITHIN(vkf_bench_settings, "heads", U32, heads, 1, 1u << 12),
    VKF_OPTION_WITHIN(vkf_bench_settings, "ff", U32, ff, 1, 1u << 18),
    VKF_OPTION_WITHIN(vkf_bench_settings, "encoder-layers", U32, encoder_layers, 1, 1024),
    VKF_OPTION_WITHIN(vkf_bench_settings, "decoder-layers", U32, decoder_layers, 1, 1024),
    VKF_OPTION_WITHIN(vkf_bench_settings, "vocab", U32, vocab, 1, 1u << 24),
};

bool vkf_bench_generation_check(const vkf_bench_options *options, const vkf_bench_shape *shape)
{
    const vkf_bench_settings *settings = &options->settings;
    if (shape->values[2] < 4) {
        vkf_print_error("a target length of %u is too short to measure steps; 4 is the least", shape->values[2]);
        return false;
    }
    if (options->directory)
        return true;
    if (settings->d_model % settings->heads != 0) {
        vkf_print_error("%u heads are no divisor of d-model, %u", settings->heads, settings->d_model);
        return false;
    }
    if (settings->vocab <= VKF_FIRST_ORDINARY_ID) {
        vkf_print_error("--vocab: %u tokens leave none beside pad, bos, eos and unk", settings->vocab);
        return false;
    }
    return true;
}

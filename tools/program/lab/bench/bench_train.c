// vkformer bench train: steps of a trainer.
#include <stdlib.h>

#include "base/clock.h"
#include "lab/bench/bench.h"
#include "lab/bench/bench_generation.h"
#include "lab/bench/bench_measure.h"
#include "lab/bench/bench_random_model.h"
#include "lab/bench/bench_recording.h"
#include "lab/bench/random_ids.h"
#include "model/family/model_kind.h"
#include "output/json_output.h"
#include "output/progress.h"
#include "training/trainer.h"

// A trainer with a batch of random tokens.
typedef struct training {
    vkf_bench_lengths lengths;
    vkf_model_config config;
    vkf_model *model;
    vkf_trainer *trainer;
    vkf_train_batch batch;
    int32_t *source_ids, *target_ids, *labels;
    double *pass_ns, *update_ns; // of each dispatch, the least
    uint32_t kept;
    double *gpu_ms, *wall_ms, *host_us;
} training;

static vkf_status load(vkf_bench *bench, vkf_model **out_model)
{
    const vkf_bench_options *options = bench->options;
    const vkf_model_desc desc = {.directory = options->directory, .trainable = true};
    if (!options->directory)
        return vkf_bench_random_model(bench->context, options, VKF_MODEL_PRECISION_F32, true, out_model);
    const vkf_status status = vkf_model_load(bench->context, &desc, out_model);
    if (status != VKF_OK)
        vkf_print_error("the model '%s' cannot be loaded: %s", options->directory, vkf_status_text(status));
    return status;
}

// How many labels a batch has, and of how many classes.
static uint64_t count_labels(const training *t, uint32_t *out_classes)
{
    const bool decodes = vkf__facts_of(&t->config)->decodes;
    const uint64_t batch = t->lengths.batch;
    *out_classes = decodes ? t->config.target_vocab : t->config.head_outputs;
    if (decodes)
        return batch * t->lengths.target_len;
    return t->config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION ? batch : batch * t->lengths.source_len;
}

static vkf_status make_batch(training *t)
{
    const vkf_bench_lengths *l = &t->lengths;
    const vkf__kind_facts *facts = vkf__facts_of(&t->config);
    uint32_t classes;
    const uint64_t sources = (uint64_t)l->batch * l->source_len, targets = (uint64_t)l->batch * l->target_len,
                   labels = count_labels(t, &classes);
    t->source_ids = calloc(sources, sizeof *t->source_ids);
    t->target_ids = calloc(targets, sizeof *t->target_ids);
    t->labels = calloc(labels, sizeof *t->labels);
    if (!t->source_ids || !t->target_ids || !t->labels)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    t->batch.batch = l->batch;
    if (facts->encodes) {
        vkf_random_ids(t->config.source_vocab, sources, t->source_ids);
        t->batch.source_len = l->source_len;
        t->batch.source_ids = t->source_ids;
    }
    if (facts->decodes) {
        vkf_random_ids(t->config.target_vocab, targets, t->target_ids);
        t->batch.target_len = l->target_len;
        t->batch.target_ids = t->target_ids;
    }
    if (t->config.head != VKF_HEAD_NONE || facts->decodes) {
        vkf_random_ids(classes, labels, t->labels);
        t->batch.labels = t->labels;
    }
    return VKF_OK;
}

static vkf_status make_trainer(vkf_bench *bench, vkf_dtype products, training *t)
{
    const vkf_trainer_desc desc = {
        .max_batch = t->lengths.batch,
        .max_source_len = t->batch.source_len,
        .max_target_len = t->batch.target_len,
        .loss = t->batch.labels ? VKF_TRAIN_LOSS_DEFAULT : VKF_TRAIN_LOSS_CONTRASTIVE,
        .rate = 1e-6,
        .max_norm = 1,
        .mixed_precision = products,
    };
    const uint32_t runs = bench->options->repetitions;
    VKF_RETURN_IF_ERROR(vkf_trainer_create(t->model, &desc, &t->trainer));
    t->pass_ns = vkf_bench_unknown_times(t->trainer->pass.plan.node_count);
    t->update_ns = vkf_bench_unknown_times(t->trainer->update.plan.node_count);
    t->gpu_ms = calloc(runs, sizeof *t->gpu_ms);
    t->wall_ms = calloc(runs, sizeof *t->wall_ms);
    t->host_us = calloc(runs, sizeof *t->host_us);
    return t->pass_ns && t->update_ns && t->gpu_ms && t->wall_ms && t->host_us ? VKF_OK : VKF_ERROR_OUT_OF_HOST_MEMORY;
}

static vkf_status begin(vkf_bench *bench, vkf_dtype products, training *t)
{
    VKF_RETURN_IF_ERROR(load(bench, &t->model));
    vkf_model_get_config(t->model, &t->config);
    vkf_status status = make_batch(t);
    if (status == VKF_OK)
        status = make_trainer(bench, products, t);
    if (status != VKF_OK)
        vkf_print_error("a trainer of %ux%ux%u cannot be made: %s", t->lengths.batch, t->lengths.source_len,
                        t->lengths.target_len, vkf_status_text(status));
    return status;
}

static void end(training *t)
{
    vkf_trainer_destroy(&t->trainer);
    vkf_model_destroy(&t->model);
    void *const owned[] = {t->source_ids, t->target_ids, t->labels,  t->pass_ns,
                           t->update_ns,  t->gpu_ms,     t->wall_ms, t->host_us};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
}

static vkf_status run_step(void *user, bool keep, double *out_gpu_ns)
{
    training *t = user;
    vkf_train_result result;
    double update_ns;
    const double start_ms = vkf_now_ms(), start_us = vkf__thread_ns() * 1e-3;
    VKF_RETURN_IF_ERROR(vkf_trainer_step(t->trainer, &t->batch, 1, &result));
    const double wall_ms = vkf_now_ms() - start_ms, host_us = vkf__thread_ns() * 1e-3 - start_us;
    VKF_RETURN_IF_ERROR(vkf_bench_work_times(&t->trainer->pass, keep ? t->pass_ns : NULL, out_gpu_ns));
    VKF_RETURN_IF_ERROR(vkf_bench_work_times(&t->trainer->update, keep ? t->update_ns : NULL, &update_ns));
    if (*out_gpu_ns >= 0)
        *out_gpu_ns += update_ns;
    if (!keep)
        return VKF_OK;
    t->gpu_ms[t->kept] = *out_gpu_ns * 1e-6;
    t->wall_ms[t->kept] = wall_ms;
    t->host_us[t->kept++] = host_us;
    return VKF_OK;
}

static json_t *shape_of(const training *t)
{
    uint32_t classes;
    json_t *shape = json_object();
    (void)count_labels(t, &classes);
    vkf_json_put_integer(shape, "batch", t->lengths.batch);
    vkf_json_put_integer(shape, "source_len", t->batch.source_len);
    vkf_json_put_integer(shape, "target_len", t->batch.target_len);
    vkf_json_put_integer(shape, "d_model", t->config.d_model);
    vkf_json_put_integer(shape, "ff", t->config.dim_feedforward);
    vkf_json_put_integer(shape, "encoder_layers", t->config.num_encoder_layers);
    vkf_json_put_integer(shape, "decoder_layers", t->config.num_decoder_layers);
    vkf_json_put_integer(shape, "classes", classes);
    return shape;
}

static json_t *details(void *user)
{
    const training *t = user;
    json_t *list = json_array();
    vkf_bench_work_details(&t->trainer->pass, t->pass_ns, list);
    vkf_bench_work_details(&t->trainer->update, t->update_ns, list);
    return list;
}

static vkf_status measure(vkf_bench *bench, const vkf_bench_types *types, training *t)
{
    const vkf_bench_case bench_case = {
        .op = "train",
        .shape = shape_of(t),
        .types = *types,
        .details = bench->options->settings.details ? details : NULL,
        .user = t,
    };
    const vkf_bench_loop loop = {.op = bench_case.op, .shape = bench_case.shape, .once = run_step, .user = t};
    const vkf_status status = vkf_bench_repeat(bench, &loop);
    if (status != VKF_OK) {
        json_decref(bench_case.shape);
        return status;
    }
    vkf_bench_samples samples = {
        .count = t->kept,
        .gpu_ms = vkf__work_timed(&t->trainer->pass) ? t->gpu_ms : NULL,
        .wall_ms = t->wall_ms,
        .host_us = t->host_us,
        .tokens_each = (double)t->lengths.batch * (t->batch.source_len + t->batch.target_len),
    };
    return vkf_bench_print_samples(bench, &bench_case, &samples);
}

static vkf_status run_train(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    training t = {.lengths = {shape->values[0], shape->values[1], shape->values[2]}};
    vkf_status status = begin(bench, types->weights, &t);
    if (status == VKF_OK)
        status = measure(bench, types, &t);
    end(&t);
    return status;
}

static const vkf_option settings_table[] = {
    VKF_OPTION(vkf_bench_settings, "details", FLAG, details),
    VKF_OPTION_WITHIN(vkf_bench_settings, "d-model", U32, d_model, 1, 1u << 16),
    VKF_OPTION_WITHIN(vkf_bench_settings, "heads", U32, heads, 1, 1u << 12),
    VKF_OPTION_WITHIN(vkf_bench_settings, "ff", U32, ff, 1, 1u << 18),
    VKF_OPTION_WITHIN(vkf_bench_settings, "encoder-layers", U32, encoder_layers, 1, 1024),
    VKF_OPTION_WITHIN(vkf_bench_settings, "decoder-layers", U32, decoder_layers, 1, 1024),
    VKF_OPTION_WITHIN(vkf_bench_settings, "vocab", U32, vocab, 1, 1u << 24),
};

const vkf_bench_spec vkf_bench_train = {
    .name = "train",
    .summary = "a step of training",
    .help = "Measures steps of training: of B sequences of S and T tokens the loss, the gradients of all parameters,\n"
            "shortened to a norm of 1, and AdamW. What an encoder or a decoder alone does not read is left out. tok/s\n"
            "are the tokens of both sides, host us the processor's time that the calling thread spends on a step.\n"
            "With f32/f16 and f32/bf16 linear layers multiply in 16 bits (mixed precision).\n"
            "\n"
            "  --details          list every dispatch with its shortest time (tables and JSON)\n"
            "\n" VKF_BENCH_GENERATION_HELP,
    .extents = VKF_BENCH_GENERATION_EXTENTS,
    .settings = settings_table,
    .setting_count = sizeof settings_table / sizeof settings_table[0],
    .f32_activations = true,
    .mixed_types = true,
    .takes_directory = true,
    .tokens = true,
    .check = vkf_bench_generation_check,
    .run = run_train,
};

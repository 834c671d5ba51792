// vkformer bench model and decode: whole runs of a model, and the steps that generate one token each.
#include <stdlib.h>

#include "lab/bench/bench.h"
#include "lab/bench/bench_generation.h"
#include "lab/bench/bench_measure.h"

// Arrays that grow with every sample.
typedef struct sample_list {
    double *gpu_ms, *wall_ms, *host_us;
    uint32_t count, capacity;
    double past; // tokens before a step, summed over all samples
} sample_list;

static bool allocate(sample_list *list, uint64_t capacity)
{
    *list = (sample_list){.capacity = (uint32_t)capacity};
    if (capacity > UINT32_MAX)
        return false;
    list->gpu_ms = calloc(list->capacity, sizeof *list->gpu_ms);
    list->wall_ms = calloc(list->capacity, sizeof *list->wall_ms);
    list->host_us = calloc(list->capacity, sizeof *list->host_us);
    return list->gpu_ms && list->wall_ms && list->host_us;
}

static void release(sample_list *list)
{
    free(list->gpu_ms);
    free(list->wall_ms);
    free(list->host_us);
}

static void add(sample_list *list, const vkf_bench_time *time, double past)
{
    if (list->count == list->capacity)
        return;
    list->gpu_ms[list->count] = time->gpu_ms;
    list->wall_ms[list->count] = time->wall_ms;
    list->host_us[list->count] = time->host_us;
    list->past += past;
    list->count++;
}

// What is measured: whole runs or single steps.
typedef struct subject {
    vkf_bench_generation generation;
    bool steps;
    sample_list list; // a sample per run, or per step
} subject;

static vkf_status run_once(void *user, bool keep, double *out_gpu_ns)
{
    subject *s = user;
    const vkf_bench_generation *g = &s->generation;
    vkf_status status = vkf_bench_generate(&s->generation);
    *out_gpu_ns = g->run.gpu_ms * 1e6;
    if (status != VKF_OK || !keep)
        return status;
    if (!s->steps)
        add(&s->list, &g->run, 0);
    // The first step that is kept has one token after bos.
    for (uint32_t i = 0; s->steps && i < g->step_count; i++)
        add(&s->list, &g->step_times[i], i + 1);
    return VKF_OK;
}

static vkf_bench_cost run_cost(const vkf_bench_generation *g, const vkf_bench_types *types)
{
    vkf_bench_cost sum = vkf_bench_encode_cost(&g->config, &g->lengths, types);
    for (uint32_t past = 0; past < g->steps; past++) {
        vkf_bench_cost step = vkf_bench_step_cost(&g->config, &g->lengths, types, past);
        sum.flops += step.flops;
        sum.bytes_read += step.bytes_read;
        sum.bytes_written += step.bytes_written;
    }
    return sum;
}

static vkf_status print(vkf_bench *bench, const vkf_bench_types *types, subject *s, const vkf_bench_case *bench_case)
{
    const vkf_bench_generation *g = &s->generation;
    sample_list *list = &s->list;
    if (list->count == 0 || g->steps == 0) {
        vkf_print_error("every row ended after %u tokens, too few to measure; random weights go on to the end",
                        g->steps);
        json_decref(bench_case->shape);
        return VKF_ERROR_INVALID_ARGUMENT;
    }
    // For whole runs, takes the host's time per step, so that both benchmarks report the same.
    for (uint32_t i = 0; !s->steps && i < list->count; i++)
        list->host_us[i] /= g->steps;
    vkf_bench_case costed = *bench_case;
    costed.cost =
        s->steps ? vkf_bench_step_cost(&g->config, &g->lengths, types, list->past / list->count) : run_cost(g, types);
    vkf_bench_samples samples = {
        .count = list->count,
        .gpu_ms = g->timed ? list->gpu_ms : NULL,
        .wall_ms = list->wall_ms,
        .host_us = list->host_us,
        .tokens_each = (double)g->lengths.batch * (s->steps ? 1 : g->steps),
    };
    return vkf_bench_print_samples(bench, &costed, &samples);
}

static vkf_status measure(vkf_bench *bench, const vkf_bench_types *types, subject *s)
{
    const vkf_bench_case bench_case = {
        .op = s->steps ? "decode" : "model",
        .shape = vkf_bench_generation_shape(&s->generation),
        .types = *types,
    };
    const vkf_bench_loop loop = {.op = bench_case.op, .shape = bench_case.shape, .once = run_once, .user = s};
    vkf_status status = vkf_bench_repeat(bench, &loop);
    if (status == VKF_OK)
        return print(bench, types, s, &bench_case);
    json_decref(bench_case.shape);
    return status;
}

static vkf_status run(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape, bool steps)
{
    const vkf_bench_options *options = bench->options;
    const vkf_bench_lengths lengths = {shape->values[0], shape->values[1], shape->values[2]};
    subject s = {.steps = steps};
    vkf_status status = vkf_bench_generation_begin(bench, types, &lengths, &s.generation);
    if (status == VKF_OK && !allocate(&s.list, (uint64_t)options->repetitions * (steps ? lengths.target_len : 1))) {
        vkf_print_error("memory for the times of every step is exhausted");
        status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (status == VKF_OK)
        status = measure(bench, types, &s);
    release(&s.list);
    vkf_bench_generation_end(&s.generation);
    return status;
}

static vkf_status run_model(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    return run(bench, types, shape, false);
}

static vkf_status run_decode(vkf_bench *bench, const vkf_bench_types *types, const vkf_bench_shape *shape)
{
    return run(bench, types, shape, true);
}

const vkf_bench_spec vkf_bench_model = {
    .name = "model",
    .summary = "a whole run of a model",
    .help = "Measures a run of a model from tokens to tokens: the encoder on B sequences of S tokens, and then token\n"
            "after token, until T stand in each row or all have ended. host us is the processor's time per token that\n"
            "the calling thread spends, waiting not counted.\n"
            "\n" VKF_BENCH_GENERATION_HELP,
    .extents = VKF_BENCH_GENERATION_EXTENTS,
    .settings = vkf_bench_generation_settings,
    .setting_count = VKF_BENCH_GENERATION_SETTINGS,
    .mixed_types = true,
    .takes_directory = true,
    .tokens = true,
    .check = vkf_bench_generation_check,
    .run = run_model,
};

const vkf_bench_spec vkf_bench_decode = {
    .name = "decode",
    .summary = "the steps that generate a token each",
    .help =
        "Measures single steps of a session: one token for each of B rows, with S tokens in the source and up to T\n"
        "in the row. gpu is the device's time for a step, host us the processor's time that the calling thread\n"
        "spends on it, waiting not counted, wall all of it. Warm-up and repetitions count runs of T tokens.\n"
        "\n" VKF_BENCH_GENERATION_HELP,
    .extents = VKF_BENCH_GENERATION_EXTENTS,
    .settings = vkf_bench_generation_settings,
    .setting_count = VKF_BENCH_GENERATION_SETTINGS,
    .mixed_types = true,
    .takes_directory = true,
    .tokens = true,
    .check = vkf_bench_generation_check,
    .run = run_decode,
};

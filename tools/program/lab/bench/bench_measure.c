// Repeats what a benchmark measures, and prints statistics.
#include "lab/bench/bench_measure.h"

#include <stdlib.h>

#include "lab/bench/bench_memory.h"
#include "lab/bench/bench_pair.h"
#include "output/progress.h"

vkf_status vkf_bench_phases(const vkf_bench *bench, const vkf_bench_phases_work *work, const char *op,
                            vkf_settled *out_settled)
{
    const vkf_bench_options *options = bench->options;
    const vkf_settle_work settling = {bench->context, options->settle_s, work->warm, work->user, work->alone};
    const uint32_t total = options->warmup + options->repetitions;
    vkf_progress progress = vkf_progress_start("repetition");
    vkf_status status = VKF_OK;
    double ns = 0;
    for (uint32_t i = 0; i < options->warmup && status == VKF_OK; i++) {
        vkf_progress_show(&progress, i, total, op);
        status = work->warm(work->user, &ns);
    }
    if (status == VKF_OK)
        status = vkf_settle(&settling, out_settled);
    for (uint32_t i = options->warmup; i < total && status == VKF_OK; i++) {
        vkf_progress_show(&progress, i, total, op);
        status = work->keep(work->user);
    }
    vkf_progress_end(&progress);
    if (status != VKF_OK && status != VKF_ERROR_CANCELLED)
        vkf_print_error("%s failed: %s", op, vkf_status_text(status));
    return status;
}

typedef struct single {
    const vkf_bench *bench;
    const vkf_bench_loop *loop;
} single;

static vkf_status run_single(const single *s, bool keep, double *out_gpu_ns)
{
    if (s->bench->stopped && s->bench->stopped())
        return VKF_ERROR_CANCELLED;
    return s->loop->once(s->loop->user, keep, out_gpu_ns);
}

static vkf_status warm_single(void *user, double *out_gpu_ns)
{
    return run_single(user, false, out_gpu_ns);
}

static vkf_status keep_single(void *user)
{
    double gpu_ns = 0;
    return run_single(user, true, &gpu_ns);
}

vkf_status vkf_bench_repeat(vkf_bench *bench, const vkf_bench_loop *loop)
{
    single s = {bench, loop};
    const vkf_bench_phases_work work = {.warm = warm_single, .keep = keep_single, .user = &s};
    return bench->pair ? vkf_bench_pair_repeat(bench, loop) : vkf_bench_phases(bench, &work, loop->op, &bench->settled);
}

// What the repetitions yield.
typedef struct repeated {
    const vkf_bench *bench;
    const vkf_bench_case *bench_case;
    double *gpu_ms;
    double *wall_ms;
    bool gpu_known;
    uint32_t run_count, kept;
    uint64_t peak_bytes;
} repeated;

static vkf_status run_once(void *user, bool keep, double *out_gpu_ns)
{
    repeated *runs = user;
    const vkf_bench_options *options = runs->bench->options;
    // Watches memory in the second run, if there is one: in the first, kernels are tested in buffers of their own.
    bool watched = runs->run_count++ == 1 || options->warmup + options->repetitions == 1;
    *out_gpu_ns = -1.0;
    if (watched)
        vkf_context_reset_memory_peak(runs->bench->context);
    double start_ms = vkf_now_ms();
    vkf_status status = runs->bench_case->run(runs->bench_case->user, out_gpu_ns);
    double run_ms = vkf_now_ms() - start_ms;
    if (watched)
        runs->peak_bytes = vkf_bench_memory_peak(runs->bench->context);
    if (!keep)
        return status;
    runs->wall_ms[runs->kept] = run_ms;
    runs->gpu_ms[runs->kept++] = *out_gpu_ns * 1e-6;
    runs->gpu_known = runs->gpu_known && *out_gpu_ns >= 0;
    return status;
}

static vkf_bench_row row_of(const vkf_bench *bench, const vkf_bench_case *bench_case, vkf_bench_samples *samples)
{
    vkf_bench_row row = {
        .op = bench_case->op,
        .shape = bench_case->shape,
        .types = bench_case->types,
        .wall_ms = vkf_summarize(samples->wall_ms, samples->count),
        .gpu_timed = samples->gpu_ms != NULL,
        .settled = bench->settled,
        .roof = -1.0,
        .device_bytes = samples->peak_bytes ? samples->peak_bytes : vkf_bench_memory_now(bench->context),
        .host_us = samples->host_us ? vkf_median(samples->host_us, samples->count) : -1.0,
    };
    if (row.gpu_timed)
        row.gpu_ms = vkf_summarize(samples->gpu_ms, samples->count);
    const vkf_bench_cost *cost = &bench_case->cost;
    double median_ms = row.gpu_timed ? row.gpu_ms.median : row.wall_ms.median;
    double seconds = median_ms > 0 ? median_ms * 1e-3 : 1e-9; // the median may be 0, because the clock has a resolution
    row.gflops = cost->flops > 0 ? cost->flops / seconds * 1e-9 : -1.0;
    row.gbytes_per_s =
        cost->bytes_read + cost->bytes_written > 0 ? (cost->bytes_read + cost->bytes_written) / seconds * 1e-9 : -1.0;
    if (bench->report->roofs)
        row.roof = vkf_bench_least_seconds(&bench->report->roofs->roofs, cost, &row.bound) / seconds;
    row.tokens_per_s =
        samples->tokens_each > 0 && row.wall_ms.median > 0 ? samples->tokens_each / (row.wall_ms.median * 1e-3) : -1.0;
    return row;
}

vkf_status vkf_bench_print_samples(vkf_bench *bench, const vkf_bench_case *bench_case, vkf_bench_samples *samples)
{
    if (bench->pair) {
        json_decref(bench_case->shape);
        return vkf_bench_pair_take(bench, samples);
    }
    char variant[512] = "-";
    vkf_bench_row row = row_of(bench, bench_case, samples);
    if (bench_case->variant)
        bench_case->variant(bench_case->user, variant, sizeof variant);
    row.variant = variant;
    if (bench_case->details)
        row.details = bench_case->details(bench_case->user);
    bool printed = vkf_bench_report_row(bench->report, &row);
    json_decref(row.details);
    json_decref(bench_case->shape);
    return printed ? VKF_OK : VKF_ERROR_FILE;
}

vkf_status vkf_bench_measure(vkf_bench *bench, const vkf_bench_case *bench_case)
{
    const uint32_t count = bench->options->repetitions;
    repeated runs = {
        .bench = bench,
        .bench_case = bench_case,
        .gpu_ms = calloc(count, sizeof *runs.gpu_ms),
        .wall_ms = calloc(count, sizeof *runs.wall_ms),
        .gpu_known = true,
    };
    const vkf_bench_loop loop = {.op = bench_case->op, .shape = bench_case->shape, .once = run_once, .user = &runs};
    vkf_status status = VKF_ERROR_OUT_OF_HOST_MEMORY;
    if (runs.gpu_ms && runs.wall_ms && bench_case->shape)
        status = vkf_bench_repeat(bench, &loop);
    else
        vkf_print_error("%s: memory for %u times is exhausted", bench_case->op, count);
    if (status == VKF_OK) {
        vkf_bench_samples samples = {
            .count = count,
            .gpu_ms = runs.gpu_known ? runs.gpu_ms : NULL,
            .wall_ms = runs.wall_ms,
            .peak_bytes = runs.peak_bytes,
        };
        status = vkf_bench_print_samples(bench, bench_case, &samples);
    } else {
        json_decref(bench_case->shape);
    }
    free(runs.gpu_ms);
    free(runs.wall_ms);
    return status;
}

// The roofs of a device: single runs, and all three with sizes and repetitions chosen here.
#include <vkformer/measure.h>

#include <time.h>

#include "api/check.h"
#include "op/roof.h"
#include "op/run_once.h"
#include "shared/roof.h"

#define MAX_BUFFER_BYTES (UINT64_C(256) << 20) // well beyond any cache
#define MIN_BUFFER_BYTES (UINT64_C(1) << 20)
#define FMA_INVOCATIONS (1u << 18)
#define FMA_FIRST_ROUNDS 4u // a few milliseconds on the slowest software driver
#define FMA_TARGET_NS 10e6
#define MIN_RUNS 3u
#define MAX_RUNS 12u
#define TIME_BUDGET_NS 150e6 // of one series of runs, beyond the least number of runs

static vkf_status emit_copy(vkf__work *work, const void *args)
{
    return vkf__emit_roof_copy(work, args);
}

static vkf_status check_vectors(const vkf__checker *check, const vkf_tensor *tensor, const char *name)
{
    vkf_status status = VKF_OK;
    uint64_t count = 0;
    VKF_TRY(vkf__check_tensor(check, tensor, name));
    (void)vkf_tensor_count(tensor, &count);
    if (tensor->dtype != VKF_DTYPE_F32 || tensor->offset_bytes % 16 != 0 || count % 4 != 0)
        return vkf__fail(check->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: %s must be f32, begin at a multiple of 16 bytes and hold a multiple of 4 elements",
                         check->function, name);
fail:
    return status;
}

static vkf_status run_copy(vkf_context *context, const char *function, const vkf_tensor *x, const vkf_tensor *out,
                           bool read)
{
    vkf_status status = VKF_OK;
    uint64_t x_count = 0, out_count = 0;
    const vkf__checker check = {.host = &context->host, .function = function, .context = context};
    VKF_TRY(check_vectors(&check, x, "x"));
    VKF_TRY(check_vectors(&check, out, "out"));
    (void)vkf_tensor_count(x, &x_count);
    (void)vkf_tensor_count(out, &out_count);
    if (!read && out_count != x_count)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT, "%s: x and out differ in their number of elements",
                         function);
    VKF_TRY(vkf__check_apart(&check, out, x, "x"));
    const vkf__roof_copy_args args = {
        .label = read ? "read" : "copy",
        .x = vkf__span_of(x),
        .out = vkf__span_of(out),
        .read = read,
    };
    VKF_TRY(vkf__run_once(context, "roof", emit_copy, &args));
fail:
    return status;
}

vkf_status vkf_measure_copy(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out)
{
    if (!context || !x || !out)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    return run_copy(context, __func__, x, out, false);
}

vkf_status vkf_measure_read(vkf_context *context, const vkf_tensor *x, const vkf_tensor *out)
{
    if (!context || !x || !out)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    return run_copy(context, __func__, x, out, true);
}

static vkf_status emit_fma(vkf__work *work, const void *args)
{
    return vkf__emit_roof_fma(work, args);
}

vkf_status vkf_measure_fma(vkf_context *context, const vkf_measure_fma_desc *desc)
{
    if (!context || !desc)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    uint64_t count = 0;
    const vkf__checker check = {.host = &context->host, .function = __func__, .context = context};
    VKF_TRY(vkf__check_tensor(&check, &desc->out, "out"));
    (void)vkf_tensor_count(&desc->out, &count);
    if (desc->out.dtype != VKF_DTYPE_F32 || desc->rounds == 0 || desc->rounds > VKF_MEASURE_FMA_MAX_ROUNDS ||
        desc->chains < VKF_MEASURE_FMA_MIN_CHAINS || desc->chains > VKF_MEASURE_FMA_MAX_CHAINS)
        return vkf__fail(check.host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: out must be f32, rounds from 1 to %d (it is %u), chains from %d to %d (it is %u)",
                         check.function, VKF_MEASURE_FMA_MAX_ROUNDS, desc->rounds, VKF_MEASURE_FMA_MIN_CHAINS,
                         VKF_MEASURE_FMA_MAX_CHAINS, desc->chains);
    if (count > UINT32_MAX)
        return vkf__fail(check.host, VKF_ERROR_TOO_LARGE, "%s: more than 2^32 elements", check.function);
    const vkf__roof_fma_args args = {
        .label = "fma",
        .out = vkf__span_of(&desc->out),
        .count = (uint32_t)count,
        .rounds = desc->rounds,
        .chains = desc->chains,
    };
    VKF_TRY(vkf__run_once(context, "roof", emit_fma, &args));
fail:
    return status;
}

double vkf_measure_fma_flops(const vkf_measure_fma_desc *desc)
{
    uint64_t count = 0;
    if (!desc || !vkf_tensor_count(&desc->out, &count))
        return 0;
    return 2.0 * (double)count * desc->rounds * VKF_ROOF_FMA_STEPS * 4 * desc->chains;
}

// What one series of runs measures, and on which tensors.
typedef struct series {
    vkf_context *context;
    vkf_progress_fn progress;
    void *user;
    vkf_status (*run)(const struct series *s);
    const char *what;
    vkf_tensor x, out;
    vkf_measure_fma_desc fma;
    bool gpu_timed;
} series;

static vkf_status series_copy(const series *s)
{
    return vkf_measure_copy(s->context, &s->x, &s->out);
}

static vkf_status series_read(const series *s)
{
    return vkf_measure_read(s->context, &s->x, &s->out);
}

static vkf_status series_fma(const series *s)
{
    return vkf_measure_fma(s->context, &s->fma);
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// *out_ns: of the GPU where it has timestamps, else of the host. The clock has its grain: never 0.
static vkf_status time_one(const series *s, uint32_t done, double *out_ns)
{
    if (s->progress && !s->progress(s->user, done, MAX_RUNS, s->what))
        return VKF_ERROR_CANCELLED;
    double start_ns = now_ns();
    vkf_status status = s->run(s);
    double ns = now_ns() - start_ns;
    if (s->gpu_timed)
        ns = vkf_context_last_op_ns(s->context);
    *out_ns = ns > 1.0 ? ns : 1.0;
    return status;
}

// The shortest of several runs after one that warms up.
static vkf_status time_best(const series *s, double *out_ns)
{
    vkf_status status = VKF_OK;
    double best_ns = 0, spent_ns = 0;
    for (uint32_t i = 0; i <= MAX_RUNS && (i <= MIN_RUNS || spent_ns < TIME_BUDGET_NS); i++) {
        double ns = 0;
        VKF_TRY(time_one(s, i, &ns));
        if (i == 0)
            continue;
        spent_ns += ns;
        best_ns = i == 1 || ns < best_ns ? ns : best_ns;
    }
    *out_ns = best_ns;
fail:
    return status;
}

static vkf_status measure_bandwidth(series *s, vkf_roofs *roofs)
{
    vkf_status status = VKF_OK;
    double ns = 0;
    uint64_t count = 0;
    (void)vkf_tensor_count(&s->x, &count);
    double bytes = (double)count * sizeof(float);
    s->run = series_copy;
    s->what = "copy";
    VKF_TRY(time_best(s, &ns));
    roofs->copy_bytes_per_s = 2.0 * bytes / ns * 1e9;
    s->run = series_read;
    s->what = "read";
    VKF_TRY(time_best(s, &ns));
    roofs->read_bytes_per_s = bytes / ns * 1e9;
fail:
    return status;
}

// Rounds that fill FMA_TARGET_NS, from a short run.
static vkf_status choose_rounds(series *s)
{
    vkf_status status = VKF_OK;
    double ns = 0;
    s->fma.rounds = FMA_FIRST_ROUNDS;
    VKF_TRY(time_best(s, &ns));
    double rounds = FMA_FIRST_ROUNDS * FMA_TARGET_NS / ns;
    if (rounds > VKF_MEASURE_FMA_MAX_ROUNDS)
        rounds = VKF_MEASURE_FMA_MAX_ROUNDS;
    if (rounds > FMA_FIRST_ROUNDS)
        s->fma.rounds = (uint32_t)rounds;
fail:
    return status;
}

static vkf_status measure_arithmetic(series *s, vkf_roofs *roofs)
{
    vkf_status status = VKF_OK;
    double best = 0;
    s->run = series_fma;
    s->what = "fma";
    s->fma.chains = VKF_MEASURE_FMA_MAX_CHAINS;
    VKF_TRY(choose_rounds(s));
    // How many accumulators suffice to hide an instruction's latency, and how many fit the registers, differs.
    for (uint32_t chains = VKF_MEASURE_FMA_MIN_CHAINS; chains <= VKF_MEASURE_FMA_MAX_CHAINS; chains++) {
        double ns = 0;
        s->fma.chains = chains;
        VKF_TRY(time_best(s, &ns));
        double rate = vkf_measure_fma_flops(&s->fma) / ns * 1e9;
        best = rate > best ? rate : best;
    }
    roofs->fma_flops_per_s = best;
fail:
    return status;
}

static uint64_t buffer_bytes(const vkf_device_info *info)
{
    uint64_t bytes = MAX_BUFFER_BYTES, heap = 0;
    for (uint32_t i = 0; i < info->heap_count; i++)
        heap = info->heap_device_local[i] && info->heap_size_bytes[i] > heap ? info->heap_size_bytes[i] : heap;
    bytes = bytes > info->max_storage_buffer_range_bytes ? info->max_storage_buffer_range_bytes : bytes;
    bytes = bytes > heap / 16 ? heap / 16 : bytes;
    return bytes < MIN_BUFFER_BYTES ? MIN_BUFFER_BYTES : bytes;
}

vkf_status vkf_measure_roofs(vkf_context *context, vkf_progress_fn progress, void *user, vkf_roofs *out_roofs)
{
    if (!context || !out_roofs)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    vkf_device_info info;
    vkf_context_device_info(context, &info);
    series s = {.context = context, .progress = progress, .user = user};
    s.gpu_timed = context->device.plan.enabled.timestamps;
    vkf_roofs roofs = {.gpu_timed = s.gpu_timed};
    const uint32_t shape[] = {(uint32_t)(buffer_bytes(&info) / 16), 4};
    const uint32_t invocations = FMA_INVOCATIONS;
    VKF_TRY(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "roof x", &s.x));
    VKF_TRY(vkf_tensor_create(context, VKF_DTYPE_F32, 2, shape, "roof out", &s.out));
    VKF_TRY(vkf_tensor_create(context, VKF_DTYPE_F32, 1, &invocations, "roof fma", &s.fma.out));
    VKF_TRY(measure_bandwidth(&s, &roofs));
    VKF_TRY(measure_arithmetic(&s, &roofs));
    *out_roofs = roofs;
fail:
    vkf_tensor_destroy(&s.x);
    vkf_tensor_destroy(&s.out);
    vkf_tensor_destroy(&s.fma.out);
    return status;
}

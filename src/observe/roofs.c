// Measures bandwidth and arithmetic by series of runs, of which the fastest counts.
#include "observe/roofs.h"

#include "base/clock.h"
#include "op/run_once.h"
#include "shared/roof.h"

#define MAX_BUFFER_BYTES (UINT64_C(256) << 20) // well beyond any cache
#define MIN_BUFFER_BYTES (UINT64_C(1) << 20)
#define FMA_INVOCATIONS (1u << 18)
#define FMA_FIRST_ROUNDS 4u // a few milliseconds on the slowest software driver
#define FMA_TARGET_NS 10e6
#define MIN_RUNS 3u
#define MAX_RUNS 12u
#define TIME_BUDGET_NS 75e6 // of one series, once it has had MIN_RUNS

static vkf_status emit_copy(vkf__work *work, const void *args)
{
    return vkf__emit_roof_copy(work, args);
}

static vkf_status emit_fma(vkf__work *work, const void *args)
{
    return vkf__emit_roof_fma(work, args);
}

vkf_status vkf__run_roof_copy(vkf_context *context, const vkf__roof_copy_args *args)
{
    return vkf__run_once(context, "roof", emit_copy, args);
}

vkf_status vkf__run_roof_fma(vkf_context *context, const vkf__roof_fma_args *args)
{
    return vkf__run_once(context, "roof", emit_fma, args);
}

double vkf__roof_fma_flops(double invocations, uint32_t rounds, uint32_t chains)
{
    return 2.0 * invocations * rounds * VKF_ROOF_FMA_STEPS * 4 * chains;
}

// What one series of runs measures, and on which tensors.
typedef struct series {
    vkf_context *context;
    vkf_progress_fn progress;
    void *user;
    vkf_status (*run)(const struct series *s);
    const char *what;
    vkf__roof_copy_args copy, read;
    vkf__roof_fma_args fma;
    bool gpu_timed;
} series;

static vkf_status series_copy(const series *s)
{
    return vkf__run_roof_copy(s->context, &s->copy);
}

static vkf_status series_read(const series *s)
{
    return vkf__run_roof_copy(s->context, &s->read);
}

static vkf_status series_fma(const series *s)
{
    return vkf__run_roof_fma(s->context, &s->fma);
}

// *out_ns is the GPU's time where it has timestamps, else the host's. It is never 0, however coarse the clock.
static vkf_status time_one(const series *s, uint32_t done, double *out_ns)
{
    if (s->progress && !s->progress(s->user, done, MAX_RUNS, s->what))
        return VKF_ERROR_CANCELLED;
    double start_ns = vkf__now_ns();
    vkf_status status = s->run(s);
    double ns = vkf__now_ns() - start_ns;
    if (s->gpu_timed)
        ns = atomic_load(&s->context->last_op_ns);
    *out_ns = ns > 1.0 ? ns : 1.0;
    return status;
}

// The shortest of several runs after one that warms up.
static vkf_status time_best(const series *s, double *out_ns)
{
    double best_ns = 0, spent_ns = 0;
    for (uint32_t i = 0; i <= MAX_RUNS && (i <= MIN_RUNS || spent_ns < TIME_BUDGET_NS); i++) {
        double ns = 0;
        VKF_RETURN_IF_ERROR(time_one(s, i, &ns));
        if (i == 0)
            continue;
        spent_ns += ns;
        best_ns = i == 1 || ns < best_ns ? ns : best_ns;
    }
    *out_ns = best_ns;
    return VKF_OK;
}

static vkf_status measure_bandwidth(series *s, vkf_roofs *roofs)
{
    double ns = 0;
    double bytes = (double)s->copy.x.size_bytes;
    s->run = series_copy;
    s->what = "copy";
    VKF_RETURN_IF_ERROR(time_best(s, &ns));
    roofs->copy_bytes_per_s = 2.0 * bytes / ns * 1e9;
    s->run = series_read;
    s->what = "read";
    VKF_RETURN_IF_ERROR(time_best(s, &ns));
    roofs->read_bytes_per_s = bytes / ns * 1e9;
    return VKF_OK;
}

// Chooses the rounds that fill FMA_TARGET_NS, by the time of a short run.
static vkf_status choose_rounds(series *s)
{
    double ns = 0;
    s->fma.rounds = FMA_FIRST_ROUNDS;
    VKF_RETURN_IF_ERROR(time_best(s, &ns));
    double rounds = FMA_FIRST_ROUNDS * FMA_TARGET_NS / ns;
    if (rounds > VKF_MEASURE_FMA_MAX_ROUNDS)
        rounds = VKF_MEASURE_FMA_MAX_ROUNDS;
    if (rounds > FMA_FIRST_ROUNDS)
        s->fma.rounds = (uint32_t)rounds;
    return VKF_OK;
}

static vkf_status measure_arithmetic(series *s, vkf_roofs *roofs)
{
    double best = 0;
    s->run = series_fma;
    s->what = "fma";
    s->fma.chains = VKF_MEASURE_FMA_MAX_CHAINS;
    VKF_RETURN_IF_ERROR(choose_rounds(s));
    // Devices differ in how many accumulators hide the latency of an instruction, and in how many fit the registers.
    for (uint32_t chains = VKF_MEASURE_FMA_MIN_CHAINS; chains <= VKF_MEASURE_FMA_MAX_CHAINS; chains++) {
        double ns = 0;
        s->fma.chains = chains;
        VKF_RETURN_IF_ERROR(time_best(s, &ns));
        double rate = vkf__roof_fma_flops(s->fma.count, s->fma.rounds, s->fma.chains) / ns * 1e9;
        best = rate > best ? rate : best;
    }
    roofs->fma_flops_per_s = best;
    return VKF_OK;
}

// As much as the device binds at once, but no more than a sixteenth of its memory.
static uint64_t buffer_bytes(const vkf_device_info *info)
{
    uint64_t bytes = MAX_BUFFER_BYTES, heap = 0;
    for (uint32_t i = 0; i < info->heap_count; i++)
        heap = info->heap_device_local[i] && info->heap_size_bytes[i] > heap ? info->heap_size_bytes[i] : heap;
    bytes = bytes > info->max_storage_buffer_range_bytes ? info->max_storage_buffer_range_bytes : bytes;
    bytes = bytes > heap / 16 ? heap / 16 : bytes;
    return bytes < MIN_BUFFER_BYTES ? MIN_BUFFER_BYTES : bytes;
}

static vkf_status make_buffer(vkf_context *context, uint64_t size_bytes, const char *name, vkf_buffer **out_buffer,
                              vkf__span *out_span)
{
    VKF_RETURN_IF_ERROR(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, size_bytes, name, out_buffer));
    VKF_RETURN_IF_ERROR(vkf__buffer_clear(*out_buffer));
    *out_span = (vkf__span){.buffer = *out_buffer, .size_bytes = size_bytes, .dtype = VKF_DTYPE_F32};
    return VKF_OK;
}

vkf_status vkf__measure_roofs(vkf_context *context, vkf_progress_fn progress, void *user, vkf_roofs *out_roofs)
{
    vkf_status status = VKF_OK;
    vkf_device_info info;
    vkf_buffer *buffers[3] = {NULL};
    vkf__span x, out, fma;
    vkf__caps_info(&context->device.plan.caps, context->device_index, &info);
    const uint64_t size_bytes = buffer_bytes(&info) / 16 * 16;
    const bool gpu_timed = context->device.plan.enabled.timestamps;
    vkf_roofs roofs = {.gpu_timed = gpu_timed};
    VKF_TRY(make_buffer(context, size_bytes, "roof x", &buffers[0], &x));
    VKF_TRY(make_buffer(context, size_bytes, "roof out", &buffers[1], &out));
    VKF_TRY(make_buffer(context, FMA_INVOCATIONS * sizeof(float), "roof fma", &buffers[2], &fma));
    series s = {
        .context = context,
        .progress = progress,
        .user = user,
        .copy = {.label = "copy", .x = x, .out = out},
        .read = {.label = "read", .x = x, .out = out, .read = true},
        .fma = {.label = "fma", .out = fma, .count = FMA_INVOCATIONS},
        .gpu_timed = gpu_timed,
    };
    VKF_TRY(measure_bandwidth(&s, &roofs));
    VKF_TRY(measure_arithmetic(&s, &roofs));
    *out_roofs = roofs;
fail:
    for (size_t i = 0; i < 3; i++)
        vkf__buffer_destroy(&buffers[i]);
    return status;
}

// Runs two versions of a benchmark inside each other, so that their repetitions take turns.
#include "lab/bench/bench_pair.h"

#include <stdlib.h>
#include <string.h>

#include "lab/bench/bench_code.h"

static bool is_stopped(const vkf_bench_pair *pair)
{
    return pair->edited.bench->stopped && pair->edited.bench->stopped();
}

// Runs after the first repetition of both, which has chosen and compiled all kernels. True when there is nothing to
// measure.
static bool is_decided(vkf_bench_pair *pair)
{
    const vkf_context *old = pair->old.bench->context, *edited = pair->edited.bench->context;
    json_t *refused = vkf_bench_code_refused(old, edited);
    if (json_array_size(refused) > 0)
        pair->outcome = VKF_BENCH_WRONG;
    else if (vkf_bench_code_same(old, edited))
        pair->outcome = VKF_BENCH_UNCHANGED;
    json_decref(refused);
    return pair->outcome != VKF_BENCH_FAILED;
}

// Runs one repetition of both. The one that begins alternates, so that neither always runs second.
static vkf_status run_both(vkf_bench_pair *pair, bool keep, double *out_gpu_ns)
{
    const uint32_t turn = pair->turns++;
    const vkf_bench_half *first = turn % 2 ? &pair->edited : &pair->old;
    const vkf_bench_half *second = turn % 2 ? &pair->old : &pair->edited;
    double ns[2] = {-1.0, -1.0};
    if (is_stopped(pair))
        return VKF_ERROR_CANCELLED;
    vkf_status status = first->loop->once(first->loop->user, keep, &ns[0]);
    if (status == VKF_OK)
        status = second->loop->once(second->loop->user, keep, &ns[1]);
    *out_gpu_ns = ns[0] >= 0 && ns[1] >= 0 ? ns[0] + ns[1] : -1.0;
    return status == VKF_OK && turn == 0 && is_decided(pair) ? VKF_ERROR_CANCELLED : status;
}

static vkf_status warm_both(void *user, double *out_gpu_ns)
{
    return run_both(user, false, out_gpu_ns);
}

static vkf_status keep_both(void *user)
{
    double gpu_ns = 0;
    return run_both(user, true, &gpu_ns);
}

// Nothing else runs on the contexts, because the kernels that they have taken are told.
static vkf_status repeat_in_turn(vkf_bench_pair *pair)
{
    const vkf_bench_phases_work work = {.warm = warm_both, .keep = keep_both, .user = pair, .alone = true};
    return vkf_bench_phases(pair->old.bench, &work, pair->op, &pair->settled);
}

vkf_status vkf_bench_pair_repeat(vkf_bench *bench, const vkf_bench_loop *loop)
{
    vkf_bench_pair *pair = bench->pair;
    if (bench == pair->edited.bench) {
        pair->edited.loop = loop;
        return repeat_in_turn(pair);
    }
    pair->old.loop = loop;
    pair->op = loop->op;
    pair->shape = json_incref((json_t *)loop->shape);
    return vkf_bench_run_case(pair->edited.bench, pair->spec, pair->index);
}

vkf_status vkf_bench_pair_take(vkf_bench *bench, const vkf_bench_samples *samples)
{
    vkf_bench_pair *pair = bench->pair;
    vkf_bench_half *half = bench == pair->old.bench ? &pair->old : &pair->edited;
    half->samples_ms = malloc(samples->count * sizeof *half->samples_ms);
    if (!half->samples_ms) {
        vkf_print_error("memory for %u times is exhausted", samples->count);
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    }
    memcpy(half->samples_ms, samples->gpu_ms ? samples->gpu_ms : samples->wall_ms,
           samples->count * sizeof *half->samples_ms);
    half->count = samples->count;
    pair->gpu_timed = samples->gpu_ms != NULL;
    return VKF_OK;
}

vkf_bench_pair vkf_bench_pair_run(vkf_bench *old, vkf_bench *edited, const vkf_bench_spec *spec, size_t index)
{
    vkf_bench_pair pair = {.spec = spec, .index = index, .old.bench = old, .edited.bench = edited};
    vkf_bench_code_begin(old->context);
    vkf_bench_code_begin(edited->context);
    old->pair = edited->pair = &pair;
    pair.status = vkf_bench_run_case(old, spec, index);
    old->pair = edited->pair = NULL;
    pair.old.kernels = vkf_bench_code_taken(old->context);
    pair.edited.kernels = vkf_bench_code_taken(edited->context);
    pair.refused = vkf_bench_code_refused(old->context, edited->context);
    // Where no other kernel can be taken, a refused one makes the run fail.
    if (json_array_size(pair.refused) > 0)
        pair.outcome = VKF_BENCH_WRONG;
    else if (pair.status == VKF_OK && pair.old.count > 0 && pair.edited.count > 0)
        pair.outcome = VKF_BENCH_MEASURED;
    else if (pair.outcome == VKF_BENCH_FAILED && is_stopped(&pair))
        pair.outcome = VKF_BENCH_STOPPED;
    return pair;
}

void vkf_bench_pair_free(vkf_bench_pair *pair)
{
    free(pair->old.samples_ms);
    free(pair->edited.samples_ms);
    json_decref(pair->old.kernels);
    json_decref(pair->edited.kernels);
    json_decref(pair->refused);
    json_decref(pair->shape);
    *pair = (vkf_bench_pair){0};
}

// Records dispatches, runs them, and keeps the best time of each.
#include "lab/bench/bench_recording.h"

#include <stdlib.h>

#include "output/json_output.h"

double *vkf_bench_unknown_times(uint32_t count)
{
    double *times = calloc(count, sizeof *times);
    for (uint32_t i = 0; times && i < count; i++)
        times[i] = -1.0;
    return times;
}

vkf_status vkf_bench_recording_begin(vkf_context *context, const char *name, vkf__emit_fn emit, const void *args,
                                     vkf_bench_recording *out_recording)
{
    vkf_bench_recording *r = out_recording;
    *r = (vkf_bench_recording){0};
    vkf__work_init(&r->work, context, name);
    VKF_RETURN_IF_ERROR(vkf__work_plan_proven(&r->work, emit, args));
    if (r->work.plan.arena_bytes > 0)
        VKF_RETURN_IF_ERROR(
            vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, r->work.plan.arena_bytes, name, &r->arena));
    VKF_RETURN_IF_ERROR(vkf__work_build(&r->work, r->arena, emit, args));
    VKF_RETURN_IF_ERROR(vkf__submission_init(&r->submission, &context->device, name));
    VKF_RETURN_IF_ERROR(vkf__work_record_own(&r->work, &r->submission));
    if (!vkf__work_timed(&r->work))
        return VKF_OK;
    r->best_ns = vkf_bench_unknown_times(r->work.plan.node_count);
    return r->best_ns ? VKF_OK : VKF_ERROR_OUT_OF_HOST_MEMORY;
}

void vkf_bench_recording_end(vkf_bench_recording *recording)
{
    if (recording->work.context)
        vkf__work_finish(&recording->work);
    vkf__submission_finish(&recording->submission);
    vkf__buffer_destroy(&recording->arena);
    free(recording->best_ns);
    *recording = (vkf_bench_recording){0};
}

vkf_status vkf_bench_work_times(vkf__work *work, double *best_ns, double *out_gpu_ns)
{
    double sum_ns = 0;
    *out_gpu_ns = -1.0;
    if (!vkf__work_timed(work))
        return VKF_OK;
    for (uint32_t i = 0; i < work->plan.node_count; i++) {
        double ns = 0;
        VKF_RETURN_IF_ERROR(vkf__work_time(work, i, &ns));
        if (best_ns && (best_ns[i] < 0 || ns < best_ns[i]))
            best_ns[i] = ns;
        sum_ns += ns;
    }
    *out_gpu_ns = sum_ns;
    return VKF_OK;
}

vkf_status vkf_bench_recording_run(vkf_bench_recording *recording, double *out_gpu_ns)
{
    VKF_RETURN_IF_ERROR(vkf__submission_run(&recording->submission, &recording->work.built.command_buffer, 1));
    return vkf_bench_work_times(&recording->work, recording->best_ns, out_gpu_ns);
}

void vkf_bench_work_details(const vkf__work *work, const double *best_ns, json_t *array)
{
    for (uint32_t i = 0; best_ns && i < work->plan.node_count; i++) {
        const vkf__node *node = &work->built.nodes[i];
        json_t *dispatch = json_object();
        vkf_json_put_string(dispatch, "label", node->label);
        vkf_json_put_string(dispatch, "kernel", node->kernel->name);
        vkf_json_put_real(dispatch, "gpu_ms_min", best_ns[i] * 1e-6);
        json_array_append_new(array, dispatch);
    }
}

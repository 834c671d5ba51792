// Runs a layer and keeps the best time of each dispatch.
#include "lab/bench/bench_dispatches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/json_output.h"

vkf_bench_dispatches vkf_bench_dispatches_begin(vkf_context *context, vkf_layer *layer, const vkf_layer_sizes *sizes)
{
    vkf_device_info info;
    vkf_context_get_device_info(context, &info);
    return (vkf_bench_dispatches){.layer = layer, .sizes = *sizes, .timed = info.timestamps};
}

void vkf_bench_dispatches_end(vkf_bench_dispatches *dispatches)
{
    vkf_layer_destroy(&dispatches->layer);
    free(dispatches->timings);
    free(dispatches->best_ns);
    *dispatches = (vkf_bench_dispatches){0};
}

// Runs after the first run, when the layer knows how many dispatches it has.
static vkf_status allocate(vkf_bench_dispatches *dispatches)
{
    uint32_t count = 0;
    vkf_status status = vkf_layer_get_timings(dispatches->layer, &count, NULL);
    if (status != VKF_OK || count == 0)
        return status;
    dispatches->timings = calloc(count, sizeof *dispatches->timings);
    dispatches->best_ns = calloc(count, sizeof *dispatches->best_ns);
    if (!dispatches->timings || !dispatches->best_ns)
        return VKF_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        dispatches->best_ns[i] = -1.0;
    dispatches->count = count;
    return VKF_OK;
}

vkf_status vkf_bench_dispatches_run(void *user, double *out_gpu_ns)
{
    vkf_bench_dispatches *dispatches = user;
    vkf_status status = vkf_layer_run(dispatches->layer, &dispatches->sizes);
    if (status != VKF_OK || !dispatches->timed)
        return status;
    if (!dispatches->timings)
        status = allocate(dispatches);
    uint32_t count = dispatches->count;
    if (status == VKF_OK && count > 0)
        status = vkf_layer_get_timings(dispatches->layer, &count, dispatches->timings);
    double sum_ns = 0;
    for (uint32_t i = 0; status == VKF_OK && i < dispatches->count; i++) {
        double gpu_ns = dispatches->timings[i].gpu_ns;
        if (dispatches->best_ns[i] < 0 || gpu_ns < dispatches->best_ns[i])
            dispatches->best_ns[i] = gpu_ns;
        sum_ns += gpu_ns;
    }
    *out_gpu_ns = dispatches->count > 0 ? sum_ns : -1.0;
    return status;
}

static const char *kernel_name(const vkf_timing *timing)
{
    return timing->kernel ? timing->kernel : "unknown";
}

void vkf_bench_dispatches_variant(void *user, char *out_text, size_t size_bytes)
{
    const vkf_bench_dispatches *dispatches = user;
    size_t length = 0;
    out_text[0] = '\0';
    for (uint32_t i = 0; i < dispatches->count; i++) {
        const vkf_timing *timing = &dispatches->timings[i];
        bool named = false;
        for (uint32_t j = 0; j < i && !named; j++)
            named = strcmp(kernel_name(&dispatches->timings[j]), kernel_name(timing)) == 0;
        if (named)
            continue;
        int added = snprintf(out_text + length, size_bytes - length, "%s%s", length ? "+" : "", kernel_name(timing));
        length += added > 0 ? (size_t)added : 0;
        if (length >= size_bytes)
            return;
    }
    if (length == 0)
        snprintf(out_text, size_bytes, "unknown");
}

json_t *vkf_bench_dispatches_details(void *user)
{
    const vkf_bench_dispatches *dispatches = user;
    json_t *list = json_array();
    for (uint32_t i = 0; i < dispatches->count; i++) {
        json_t *dispatch = json_object();
        vkf_json_put_string(dispatch, "label", dispatches->timings[i].label);
        vkf_json_put_string(dispatch, "kernel", kernel_name(&dispatches->timings[i]));
        vkf_json_put_real(dispatch, "gpu_ms_min", dispatches->best_ns[i] * 1e-6);
        json_array_append_new(list, dispatch);
    }
    return list;
}

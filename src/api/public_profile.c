// Public entry points of profiling: set who is told about runs and probes, and list the counters.
#include <vkformer/profile.h>

#include "base/sized.h"
#include "kernel/context.h"

vkf_status vkf_context_set_profiler_sized(vkf_context *context, const vkf_profiler *profiler, size_t profiler_bytes)
{
    if (!context)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, "vkf_context_set_profiler");
    if (status != VKF_OK)
        return status;
    VKF_TAKE_SIZED(&context->host, "vkf_context_set_profiler", vkf_profiler, profiler, profiler_bytes);
    context->profiler = profiler ? *profiler : (vkf_profiler){0};
    return VKF_OK;
}

uint32_t vkf_context_get_counters(const vkf_context *context, const vkf_counter **out_counters)
{
    if (!context || !out_counters)
        return 0;
    *out_counters = context->counters.list;
    return context->counters.count;
}

vkf_status vkf_context_set_probe(vkf_context *context, vkf_probe_fn probe, void *user)
{
    if (!context)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    context->probe = probe;
    context->probe_user = user;
    return VKF_OK;
}

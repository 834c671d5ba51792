// Reads what the device's clock and counters say about a run.
#include "kernel/work.h"

#include "kernel/work_bind.h"

static vkf_status make_queries(vkf__work *work)
{
    vkf__device *device = &work->context->device;
    vkf_status status = VKF_OK;
    const VkQueryPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = work->plan.node_count + 1,
    };
    VKF_VK_CREATE(device, device->vk.vkCreateQueryPool(device->handle, &info, NULL, &work->clocks.queries),
                  &work->clocks.queries);
    vkf__device_name(device, VK_OBJECT_TYPE_QUERY_POOL, (uint64_t)work->clocks.queries, work->name);
    VKF_ALLOC(device->host, work->clocks.ticks, (size_t)work->plan.node_count + 1);
fail:
    return status;
}

vkf_status vkf__work_clocks_init(vkf__work *work)
{
    vkf_context *context = work->context;
    // A trial is always timed by the device: the host's clock counts what others have queued, too.
    if (context->device.plan.enabled.timestamps || (work->trial && context->device.plan.caps.timestamps))
        VKF_RETURN_IF_ERROR(make_queries(work));
    if (work->counted && context->counters.count > 0)
        VKF_RETURN_IF_ERROR(vkf__counter_pools_init(&work->clocks.counters, &context->device, &context->counters,
                                                    work->plan.node_count));
    return VKF_OK;
}

void vkf__work_clocks_finish(vkf__work *work)
{
    vkf__device *device = &work->context->device;
    if (work->clocks.queries != VK_NULL_HANDLE)
        device->vk.vkDestroyQueryPool(device->handle, work->clocks.queries, NULL);
    vkf__counter_pools_finish(&work->clocks.counters, device);
    vkf__free(device->host, work->clocks.ticks);
    work->clocks = (vkf__work_clocks){0};
}

bool vkf__work_timed(const vkf__work *work)
{
    return work->clocks.queries != VK_NULL_HANDLE;
}

static VkResult get_ticks(vkf__work *work, uint32_t first, uint32_t count)
{
    vkf__device *device = &work->context->device;
    return device->vk.vkGetQueryPoolResults(device->handle, work->clocks.queries, first, count,
                                            count * sizeof *work->clocks.ticks, work->clocks.ticks + first,
                                            sizeof *work->clocks.ticks, VK_QUERY_RESULT_64_BIT);
}

static vkf_status read_ticks(vkf__work *work, uint32_t first, uint32_t count)
{
    vkf__device *device = &work->context->device;
    if (work->clocks.queries == VK_NULL_HANDLE)
        return vkf__fail(device->host, VKF_ERROR_UNSUPPORTED,
                         "%s: no timestamps; create the context with `timestamps` on a device that has them",
                         work->name);
    VKF_VK_OR_RETURN(device, get_ticks(work, first, count));
    return VKF_OK;
}

vkf_status vkf__work_read_ticks(vkf__work *work)
{
    return read_ticks(work, 0, work->plan.node_count + 1);
}

bool vkf__work_ticked(vkf__work *work)
{
    return vkf__work_timed(work) && get_ticks(work, 0, work->plan.node_count + 1) == VK_SUCCESS;
}

bool vkf__work_read_counters(vkf__work *work, uint32_t index, double *out_values)
{
    vkf_context *context = work->context;
    return work->clocks.counters.query_count > 0 &&
           vkf__counter_pools_read(&work->clocks.counters, &context->device, &context->counters, index, out_values);
}

double vkf__work_ticks_ns(const vkf__work *work, uint64_t from, uint64_t to)
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    uint64_t mask = caps->timestamp_valid_bits >= 64 ? UINT64_MAX : (UINT64_C(1) << caps->timestamp_valid_bits) - 1;
    return (double)((to - from) & mask) * (double)caps->timestamp_period_ns;
}

vkf_status vkf__work_time(vkf__work *work, uint32_t index, double *out_ns)
{
    VKF_RETURN_IF_ERROR(read_ticks(work, index, 2));
    *out_ns = vkf__work_ticks_ns(work, work->clocks.ticks[index], work->clocks.ticks[index + 1]);
    return VKF_OK;
}

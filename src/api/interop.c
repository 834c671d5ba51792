// Public entry points for programs that use Vulkan themselves: <vkformer/vulkan.h>.
#include "api/interop_semaphores.h"
#include "base/sized.h"
#include "layer/layer.h"

vkf_status vkf_layer_record(vkf_layer *layer, uint32_t frame, VkCommandBuffer command_buffer)
{
    if (!layer)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(layer->context, __func__));
    if (command_buffer == VK_NULL_HANDLE)
        return vkf__fail(&layer->context->host, VKF_ERROR_INVALID_ARGUMENT, "%s: the command buffer is null", __func__);
    VKF_RETURN_IF_ERROR(vkf__layer_check_frame(layer, frame));
    return vkf__work_record(&layer->frames[frame].work, command_buffer, false);
}

static vkf_status check_semaphores(const vkf__host *host, const vkf_semaphore_value *items, uint32_t count,
                                   const char *function, const char *name)
{
    if (count > VKF_MAX_SEMAPHORES || (count > 0 && !items))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: %u %s: give an array of %u semaphores at most",
                         function, count, name, VKF_MAX_SEMAPHORES);
    for (uint32_t i = 0; i < count; i++)
        if (items[i].semaphore == VK_NULL_HANDLE)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: %s[%u] is null", function, name, i);
    return VKF_OK;
}

static void copy_semaphores(vkf__semaphore_value *out_values, const vkf_semaphore_value *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        out_values[i] = (vkf__semaphore_value){items[i].semaphore, items[i].value};
}

vkf_status vkf__take_semaphores(const vkf__host *host, const char *function, const vkf__given_semaphores *given,
                                vkf__taken_semaphores *taken, vkf__submit_semaphores *out_semaphores)
{
    VKF_RETURN_IF_ERROR(check_semaphores(host, given->waits, given->wait_count, function, "waits"));
    VKF_RETURN_IF_ERROR(check_semaphores(host, given->signals, given->signal_count, function, "signals"));
    copy_semaphores(taken->waits, given->waits, given->wait_count);
    copy_semaphores(taken->signals, given->signals, given->signal_count);
    *out_semaphores = (vkf__submit_semaphores){taken->waits, taken->signals, given->wait_count, given->signal_count};
    return VKF_OK;
}

vkf_status vkf_layer_submit_sized(vkf_layer *layer, const vkf_layer_submit_desc *desc, size_t desc_bytes)
{
    vkf__taken_semaphores taken;
    vkf__submit_semaphores semaphores;
    if (!layer || !desc)
        return vkf__null_argument(__func__);
    const vkf__host *host = &layer->context->host;
    VKF_RETURN_IF_ERROR(vkf__context_enter(layer->context, "vkf_layer_submit"));
    VKF_TAKE_SIZED(host, "vkf_layer_submit", vkf_layer_submit_desc, desc, desc_bytes);
    VKF_RETURN_IF_ERROR(vkf__layer_check_frame(layer, desc->frame));
    const vkf__given_semaphores given = {desc->waits, desc->signals, desc->wait_count, desc->signal_count};
    VKF_RETURN_IF_ERROR(vkf__take_semaphores(host, "vkf_layer_submit", &given, &taken, &semaphores));
    return vkf__layer_submit(layer, desc->frame, &desc->sizes, &semaphores);
}

_Static_assert(VKF_MAX_SEMAPHORES == VKF_MAX_SUBMIT_SEMAPHORES, "the public limit is that of a submission");

vkf_status vkf_buffer_wrap_sized(vkf_context *context, const vkf_wrapped_buffer_desc *desc, size_t desc_bytes,
                                 vkf_buffer **out_buffer)
{
    vkf_buffer *buffer = NULL;
    if (!context || !desc || !out_buffer)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(context, "vkf_buffer_wrap"));
    VKF_TAKE_SIZED(&context->host, "vkf_buffer_wrap", vkf_wrapped_buffer_desc, desc, desc_bytes);
    const vkf__wrapped_range range = {
        .handle = desc->buffer, .begin = desc->offset_bytes, .size_bytes = desc->size_bytes, .usage = desc->usage};
    VKF_RETURN_IF_ERROR(vkf__buffer_wrap(&context->transfer, &range, &buffer));
    vkf__context_hold(context, VKF_MADE_BUFFER);
    buffer->context = context;
    *out_buffer = buffer;
    return VKF_OK;
}

void vkf_buffer_get_vulkan(const vkf_buffer *buffer, VkBuffer *out_buffer, VkDeviceSize *out_offset)
{
    if (!buffer || !out_buffer || !out_offset)
        return;
    *out_buffer = buffer->handle;
    *out_offset = buffer->begin;
}

static vkf_vulkan_handles handles_of(const vkf_context *context)
{
    const vkf__device *device = &context->device;
    if (vkf__device_is_described(device))
        return (vkf_vulkan_handles){0};
    return (vkf_vulkan_handles){
        .instance = context->instance.handle,
        .physical_device = device->physical,
        .device = device->handle,
        .queue = device->queue,
        .queue_family_index = device->queue_family,
        .api_version = device->plan.caps.api_version,
        // The public type spells VkInstance as void *, so that its header needs no header of Vulkan.
        .get_instance_proc_addr = (vkf_get_instance_proc_addr)(vkf_void_function)context->instance.get_proc,
    };
}

void vkf_context_get_vulkan_sized(const vkf_context *context, vkf_vulkan_handles *out_handles, size_t handles_bytes)
{
    if (!context || !out_handles)
        return;
    const vkf_vulkan_handles handles = handles_of(context);
    (void)vkf__give_sized(out_handles, handles_bytes, &handles, sizeof handles);
}

void vkf_context_lock_queue(vkf_context *context)
{
    if (context && !vkf__context_is_inherited(context))
        vkf__device_lock_queue(&context->device);
}

void vkf_context_unlock_queue(vkf_context *context)
{
    if (context && !vkf__context_is_inherited(context))
        vkf__device_unlock_queue(&context->device);
}

// Public entry points for programs that use Vulkan themselves: <vkformer/vulkan.h>.
#include "layer/layer.h"

#include <vkformer/vulkan.h>

vkf_status vkf_layer_record(vkf_layer *layer, VkCommandBuffer command_buffer)
{
    if (!layer)
        return VKF_ERROR_INVALID_ARGUMENT;
    vkf_status status = vkf__context_enter(layer->context, __func__);
    if (status != VKF_OK)
        return status;
    if (command_buffer == VK_NULL_HANDLE)
        return vkf__fail(&layer->context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_layer_record: the command buffer is null");
    return vkf__work_record(&layer->work, command_buffer, false);
}

void vkf_buffer_vulkan(const vkf_buffer *buffer, VkBuffer *out_buffer, VkDeviceSize *out_offset)
{
    if (!buffer || !out_buffer || !out_offset)
        return;
    *out_buffer = buffer->handle;
    *out_offset = 0;
}

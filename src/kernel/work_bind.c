// Binds the operands of dispatches: descriptors, texel views and push constants.
#include "kernel/work_bind.h"

#include "base/elements.h"
#include "base/size.h"
#include "shared/types.h"

// The descriptors of one set while they are being written.
typedef struct set_writes {
    VkWriteDescriptorSet writes[VKF_KERNEL_MAX_OPERANDS + 1];
    VkDescriptorBufferInfo buffers[VKF_KERNEL_MAX_OPERANDS + 1];
    uint32_t count;
} set_writes;

static void add_buffer(set_writes *set, VkDescriptorSet handle, uint32_t binding, VkDescriptorType type,
                       VkDescriptorBufferInfo info)
{
    set->buffers[set->count] = info;
    set->writes[set->count] = (VkWriteDescriptorSet){
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .dstSet = handle,
        .dstBinding = binding,
        .descriptorCount = 1,
        .descriptorType = type,
        .pBufferInfo = &set->buffers[set->count],
    };
    set->count++;
}

// Some kernels read this many bytes at once. Buffers are allocated in larger multiples.
#define READ_UNIT 16u

// Binds from an aligned offset at or below the span's own. The remaining distance is a push constant, counted in
// elements, or in words of blocks. What is read is bound in whole units where the device's range allows it.
static VkDescriptorBufferInfo storage_range(const vkf__work *work, const vkf__span *span, bool write,
                                            uint32_t *out_push)
{
    const vkf__caps *caps = &work->context->device.plan.caps;
    uint64_t alignment = caps->storage_buffer_alignment > READ_UNIT ? caps->storage_buffer_alignment : READ_UNIT;
    const uint64_t at = span->buffer->begin + span->offset_bytes;
    uint64_t begin = at / alignment * alignment;
    uint64_t end = vkf__align_u64(at + span->size_bytes, 4);
    uint64_t units_end = vkf__align_u64(end, READ_UNIT);
    if (!write && units_end - begin <= caps->max_storage_buffer_range)
        end = units_end;
    *out_push = (uint32_t)((at - begin) / vkf__unit_bytes(span->dtype));
    return (VkDescriptorBufferInfo){
        .buffer = span->buffer->handle,
        .offset = begin,
        .range = end - begin,
    };
}

// Every device offers these formats for uniform texel buffers. bfloat16 has no format, so its bits are read as
// integers, as are words of blocks.
static VkFormat texel_format(vkf_dtype dtype, vkf__operand_kind kind)
{
    bool half = dtype == VKF_DTYPE_F16;
    if (dtype == VKF_DTYPE_BF16)
        return kind == VKF_OPERAND_TEXEL4 ? VK_FORMAT_R16G16B16A16_UINT : VK_FORMAT_R16_UINT;
    if (vkf__is_blocks(dtype))
        return kind == VKF_OPERAND_TEXEL4 ? VK_FORMAT_R32G32B32A32_UINT : VK_FORMAT_R32_UINT;
    if (kind == VKF_OPERAND_TEXEL4)
        return half ? VK_FORMAT_R16G16B16A16_SFLOAT : VK_FORMAT_R32G32B32A32_SFLOAT;
    return half ? VK_FORMAT_R16_SFLOAT : VK_FORMAT_R32_SFLOAT;
}

// The push constant counts texels. A partial last texel ends in the buffer's padding.
static vkf_status make_view(vkf__work *work, const vkf__span *span, vkf__operand_kind kind, VkBufferView *out_view,
                            uint32_t *out_push)
{
    vkf__device *device = &work->context->device;
    vkf_status status = VKF_OK;
    uint64_t texel = vkf__unit_bytes(span->dtype) * (kind == VKF_OPERAND_TEXEL4 ? 4 : 1);
    uint64_t alignment = device->plan.caps.texel_buffer_alignment;
    const uint64_t at = span->buffer->begin + span->offset_bytes;
    uint64_t begin = at / alignment * alignment;
    const VkBufferViewCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO,
        .buffer = span->buffer->handle,
        .format = texel_format(span->dtype, kind),
        .offset = begin,
        .range = (at + span->size_bytes - begin + texel - 1) / texel * texel,
    };
    VKF_VK_CREATE(device, device->vk.vkCreateBufferView(device->handle, &info, NULL, out_view), out_view);
    vkf__device_name(device, VK_OBJECT_TYPE_BUFFER_VIEW, (uint64_t)*out_view, work->name);
    *out_push = (uint32_t)((at - begin) / texel);
fail:
    return status;
}

vkf__access vkf__access_of(const vkf__binding *binding)
{
    const vkf__span *span = &binding->span;
    const vkf_buffer *buffer = span->buffer;
    const uint64_t at = span->offset_bytes + (buffer ? buffer->begin : 0);
    // Several of the caller's may lie in one VkBuffer. A device that is only described has none.
    const bool made = buffer && buffer->handle != VK_NULL_HANDLE;
    const void *identity = made ? (const void *)(uintptr_t)buffer->handle : (const void *)buffer;
    return (vkf__access){identity, at, at + span->size_bytes, binding->write};
}

static void push_address(const vkf__kernel *kernel, const vkf__span *span, uint32_t index, uint32_t *push)
{
    uint32_t at = (kernel->operand_count + 1) / 2 * 2;
    for (uint32_t i = 0; i < index; i++)
        at += kernel->operands[i] == VKF_OPERAND_ADDRESS ? 2 : 0;
    uint64_t address = span->buffer->address + span->offset_bytes;
    push[at] = (uint32_t)address;
    push[at + 1] = (uint32_t)(address >> 32);
}

static void add_view(set_writes *set, const vkf__node *node, uint32_t index, const VkBufferView *view)
{
    add_buffer(set, node->set, 1 + index, VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER, (VkDescriptorBufferInfo){0});
    set->writes[set->count - 1].pTexelBufferView = view;
}

// An absent operand of few numbers is never read: all of a work have one view.
static vkf_status bind_no_values(vkf__work *work, const vkf__node *node, uint32_t index, set_writes *set)
{
    const vkf__span number = {.buffer = work->built.control, .size_bytes = sizeof(float), .dtype = VKF_DTYPE_F32};
    uint32_t push;
    if (work->built.no_values == VK_NULL_HANDLE)
        VKF_RETURN_IF_ERROR(make_view(work, &number, VKF_OPERAND_VALUES, &work->built.no_values, &push));
    add_view(set, node, index, &work->built.no_values);
    return VKF_OK;
}

static vkf_status bind_operand(vkf__work *work, const vkf__dispatch *dispatch, vkf__node *node, uint32_t index,
                               set_writes *set)
{
    const vkf__binding *binding = &dispatch->bindings[index];
    bool present = binding->span.size_bytes > 0;
    vkf__operand_kind kind = node->kernel->operands[index];
    // An absent operand is never read, so any valid range will do: that of the output, which is always there.
    const vkf__span *span = present ? &binding->span : &dispatch->bindings[0].span;
    if (kind == VKF_OPERAND_VALUES && !present)
        return bind_no_values(work, node, index, set);
    if (present) {
        node->accesses[index] = vkf__access_of(binding);
        node->buffers[index] = span->buffer;
        node->dtypes[index] = span->dtype;
    }
    if (kind == VKF_OPERAND_ADDRESS) {
        push_address(node->kernel, span, index, node->push);
    } else if (kind == VKF_OPERAND_STORAGE) {
        add_buffer(set, node->set, 1 + index, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                   storage_range(work, span, binding->write, &node->push[index]));
    } else {
        VKF_RETURN_IF_ERROR(make_view(work, span, kind, &node->views[index], &node->push[index]));
        add_view(set, node, index, &node->views[index]);
    }
    return VKF_OK;
}

vkf_status vkf__work_bind(vkf__work *work, const vkf__dispatch *dispatch, uint32_t index)
{
    vkf__device *device = &work->context->device;
    vkf__node *node = &work->built.nodes[index];
    set_writes set = {0};
    const VkDescriptorSetAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = work->built.pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &node->pipeline->layout->set,
    };
    VKF_VK_OR_RETURN(device, device->vk.vkAllocateDescriptorSets(device->handle, &info, &node->set));
    vkf__device_name(device, VK_OBJECT_TYPE_DESCRIPTOR_SET, (uint64_t)node->set, node->label);
    add_buffer(&set, node->set, VKF_BINDING_PARAMS, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
               (VkDescriptorBufferInfo){
                   .buffer = work->built.control->handle,
                   .offset = vkf__work_params_offset(work, index),
                   .range = node->kernel->params_bytes,
               });
    for (uint32_t i = 0; i < node->kernel->operand_count; i++)
        VKF_RETURN_IF_ERROR(bind_operand(work, dispatch, node, i, &set));
    device->vk.vkUpdateDescriptorSets(device->handle, set.count, set.writes, 0, NULL);
    return VKF_OK;
}

void vkf__work_unbind(vkf__work *work, vkf__node *node)
{
    vkf__device *device = &work->context->device;
    for (uint32_t i = 0; i < VKF_KERNEL_MAX_OPERANDS; i++) {
        if (node->views[i] != VK_NULL_HANDLE)
            device->vk.vkDestroyBufferView(device->handle, node->views[i], NULL);
        node->views[i] = VK_NULL_HANDLE;
    }
}

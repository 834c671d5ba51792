// Records works into command buffers, and runs single nodes.
#include "kernel/work.h"

#include "base/clock.h"
#include "kernel/reference_dispatch.h"
#include "kernel/work_bind.h"

// Orders the first dispatch behind whatever ran before in this queue (other layers, transfers).
static void barrier_before(vkf__device *device, VkCommandBuffer command_buffer)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
    };
    device->vk.vkCmdPipelineBarrier(command_buffer,
                                    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                                    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void barrier_between(vkf__device *device, VkCommandBuffer command_buffer)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
    };
    device->vk.vkCmdPipelineBarrier(command_buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, NULL, 0, NULL);
}

// Makes results visible to later compute and transfers, and to the host after the fence.
static void barrier_after(vkf__device *device, VkCommandBuffer command_buffer)
{
    VkMemoryBarrier barrier = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                         VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_HOST_READ_BIT,
    };
    device->vk.vkCmdPipelineBarrier(command_buffer, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT |
                                        VK_PIPELINE_STAGE_HOST_BIT,
                                    0, 1, &barrier, 0, NULL, 0, NULL);
}

static void write_timestamp(vkf__work *work, VkCommandBuffer command_buffer, uint32_t query)
{
    vkf__device *device = &work->context->device;
    if (work->clocks.queries != VK_NULL_HANDLE)
        device->vk.vkCmdWriteTimestamp(command_buffer, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, work->clocks.queries,
                                       query);
}

static void record_reference(vkf__work *work, VkCommandBuffer command_buffer, uint32_t index)
{
    const vkf__node *node = &work->built.nodes[index];
    vkf__reference_dispatch dispatch = {
        .kernel = node->kernel,
        .spec = node->pipeline->spec,
        .control = work->built.control->handle,
        .grid_offset = (uint64_t)index * VKF_WORK_GRID_BYTES,
        .params_offset = vkf__work_params_offset(work, index),
    };
    for (uint32_t i = 0; i < node->kernel->operand_count; i++)
        if (node->buffers[i])
            dispatch.operands[i] = (vkf__reference_operand){
                .buffer = node->buffers[i]->handle,
                .offset_bytes = node->accesses[i].begin,
                .size_bytes = node->accesses[i].end - node->accesses[i].begin,
                .dtype = node->dtypes[i],
            };
    ((vkf__record_reference_fn)work->context->device.record_reference)(command_buffer, &dispatch);
}

static void record_node(vkf__work *work, VkCommandBuffer command_buffer, uint32_t index)
{
    vkf__device *device = &work->context->device;
    const vkf__node *node = &work->built.nodes[index];
    if (device->record_reference) {
        record_reference(work, command_buffer, index);
        return;
    }
    VkPipelineLayout layout = node->pipeline->layout->handle;
    device->vk.vkCmdBindPipeline(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, node->pipeline->handle);
    device->vk.vkCmdBindDescriptorSets(command_buffer, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &node->set, 0,
                                       NULL);
    device->vk.vkCmdPushConstants(command_buffer, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                  4 * vkf__kernel_push_words(node->kernel), node->push);
    device->vk.vkCmdDispatchIndirect(command_buffer, work->built.control->handle,
                                     (VkDeviceSize)index * VKF_WORK_GRID_BYTES);
}

// Also records the counters' queries around the node, and a timestamp after it.
static void record_measured_node(vkf__work *work, VkCommandBuffer command_buffer, uint32_t index)
{
    vkf__device *device = &work->context->device;
    vkf__counter_pools_record_begin(&work->clocks.counters, device, command_buffer, index);
    record_node(work, command_buffer, index);
    vkf__counter_pools_record_end(&work->clocks.counters, device, command_buffer, index);
    write_timestamp(work, command_buffer, index + 1);
}

static void record_query_reset(vkf__work *work, VkCommandBuffer command_buffer)
{
    vkf__device *device = &work->context->device;
    if (work->clocks.queries != VK_NULL_HANDLE)
        device->vk.vkCmdResetQueryPool(command_buffer, work->clocks.queries, 0, work->plan.node_count + 1);
    vkf__counter_pools_record_reset(&work->clocks.counters, device, command_buffer);
    write_timestamp(work, command_buffer, 0);
}

vkf_status vkf__work_find_barriers(vkf__work *work)
{
    vkf_status status = VKF_OK;
    vkf__hazards hazards;
    vkf__hazards_init(&hazards, work->context->device.host);
    for (uint32_t i = 0; i < work->plan.node_count; i++) {
        vkf__node *node = &work->built.nodes[i];
        VKF_TRY(vkf__hazards_add(&hazards, node->accesses, node->kernel->operand_count, &node->barrier));
    }
fail:
    vkf__hazards_finish(&hazards);
    return status;
}

static vkf_status record_nodes(vkf__work *work, VkCommandBuffer command_buffer, bool queries)
{
    VKF_RETURN_IF_ERROR(vkf__work_find_barriers(work));
    if (queries)
        record_query_reset(work, command_buffer);
    for (uint32_t i = 0; i < work->plan.node_count; i++) {
        if (work->built.nodes[i].barrier)
            barrier_between(&work->context->device, command_buffer);
        if (queries)
            record_measured_node(work, command_buffer, i);
        else
            record_node(work, command_buffer, i);
    }
    return VKF_OK;
}

vkf_status vkf__work_record(vkf__work *work, VkCommandBuffer command_buffer, bool queries)
{
    vkf__device *device = &work->context->device;
    if (work->follows)
        barrier_between(device, command_buffer);
    else
        barrier_before(device, command_buffer);
    vkf_status status = record_nodes(work, command_buffer, queries);
    if (!work->followed)
        barrier_after(device, command_buffer);
    return status;
}

vkf_status vkf__work_record_again(vkf__work *work)
{
    vkf__device *device = &work->context->device;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VKF_VK_OR_RETURN(device, device->vk.vkBeginCommandBuffer(work->built.command_buffer, &info));
    VKF_RETURN_IF_ERROR(vkf__work_record(work, work->built.command_buffer, true));
    VKF_VK_OR_RETURN(device, device->vk.vkEndCommandBuffer(work->built.command_buffer));
    return VKF_OK;
}

vkf_status vkf__work_record_own(vkf__work *work, vkf__submission *submission)
{
    VKF_RETURN_IF_ERROR(vkf__submission_command_buffer(submission, work->name, &work->built.command_buffer));
    return vkf__work_record_again(work);
}

vkf_status vkf__work_record_part(vkf__work *work, VkCommandBuffer command_buffer, uint32_t begin, uint32_t end,
                                 bool alone)
{
    vkf__device *device = &work->context->device;
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    VKF_VK_OR_RETURN(device, device->vk.vkBeginCommandBuffer(command_buffer, &info));
    if (alone || begin == 0)
        barrier_before(device, command_buffer);
    if (!alone && begin == 0)
        record_query_reset(work, command_buffer);
    for (uint32_t i = begin; i < end; i++) {
        if ((i > begin || !alone) && work->built.nodes[i].barrier)
            barrier_between(device, command_buffer);
        if (alone)
            record_node(work, command_buffer, i);
        else
            record_measured_node(work, command_buffer, i);
    }
    if (alone || end == work->plan.node_count)
        barrier_after(device, command_buffer);
    VKF_VK_OR_RETURN(device, device->vk.vkEndCommandBuffer(command_buffer));
    return VKF_OK;
}

vkf_status vkf__work_run_node(vkf__work *work, vkf__submission *submission, uint32_t index)
{
    if (work->built.single == VK_NULL_HANDLE)
        VKF_RETURN_IF_ERROR(vkf__submission_command_buffer(submission, "single", &work->built.single));
    VKF_RETURN_IF_ERROR(vkf__work_record_part(work, work->built.single, index, index + 1, true));
    return vkf__submission_run(submission, &work->built.single, 1);
}

vkf_status vkf__work_run_nothing(vkf__work *work, vkf__submission *submission, double *out_ns)
{
    if (work->built.empty == VK_NULL_HANDLE) {
        VKF_RETURN_IF_ERROR(vkf__submission_command_buffer(submission, "empty", &work->built.empty));
        VKF_RETURN_IF_ERROR(vkf__work_record_part(work, work->built.empty, 0, 0, true));
    }
    const double begin = vkf__now_ns();
    VKF_RETURN_IF_ERROR(vkf__submission_run(submission, &work->built.empty, 1));
    *out_ns = vkf__now_ns() - begin;
    return VKF_OK;
}

// Submits command buffers and waits for them.
#include "vk/submission.h"

#include <assert.h>

#include "base/clock.h"
#include "base/process.h"

vkf_status vkf__submission_init(vkf__submission *submission, vkf__device *device, const char *name)
{
    vkf_status status = VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__device_check_runs(device, name));
    *submission = (vkf__submission){.device = device};
    VkCommandPoolCreateInfo pool_info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = device->queue_family,
    };
    VKF_VK_CREATE(device, device->vk.vkCreateCommandPool(device->handle, &pool_info, NULL, &submission->pool),
                  &submission->pool);
    VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VKF_VK_CREATE(device, device->vk.vkCreateFence(device->handle, &fence_info, NULL, &submission->fence),
                  &submission->fence);
    vkf__device_name(device, VK_OBJECT_TYPE_COMMAND_POOL, (uint64_t)submission->pool, name);
    vkf__device_name(device, VK_OBJECT_TYPE_FENCE, (uint64_t)submission->fence, name);
    return VKF_OK;
fail:
    vkf__submission_finish(submission);
    return status;
}

void vkf__submission_finish(vkf__submission *submission)
{
    vkf__device *device = submission->device;
    if (!device)
        return;
    if (submission->fence != VK_NULL_HANDLE)
        device->vk.vkDestroyFence(device->handle, submission->fence, NULL);
    if (submission->pool != VK_NULL_HANDLE)
        device->vk.vkDestroyCommandPool(device->handle, submission->pool, NULL);
    *submission = (vkf__submission){0};
}

vkf_status vkf__submission_command_buffer(vkf__submission *submission, const char *name,
                                          VkCommandBuffer *out_command_buffer)
{
    vkf__device *device = submission->device;
    VkCommandBufferAllocateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = submission->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    VkCommandBuffer command_buffer = VK_NULL_HANDLE;
    VKF_VK_OR_RETURN(device, device->vk.vkAllocateCommandBuffers(device->handle, &info, &command_buffer));
    vkf__device_name(device, VK_OBJECT_TYPE_COMMAND_BUFFER, (uint64_t)(uintptr_t)command_buffer, name);
    *out_command_buffer = command_buffer;
    return VKF_OK;
}

// A blocked thread wakes up some 50 microseconds after its fence, during which the device has nothing to do. So the
// wait is left LEAD_NS before the end that the last run lets expect, and the fence is polled for SPIN_NS. Of runs that
// take longer than SHORT_NS this is too little to matter. Of a run that was submitted some time ago less is left.
#define LEAD_NS 1e5
#define SPIN_NS 2e5
#define SHORT_NS 2e7

// VK_TIMEOUT: it has not ended yet.
static VkResult spin(vkf__device *device, VkFence fence, double left_ns)
{
    VkResult result = VK_TIMEOUT;
    if (left_ns > LEAD_NS)
        result = device->vk.vkWaitForFences(device->handle, 1, &fence, VK_TRUE, (uint64_t)(left_ns - LEAD_NS));
    const double until = vkf__now_ns() + SPIN_NS;
    while (result == VK_TIMEOUT || result == VK_NOT_READY) {
        result = device->vk.vkGetFenceStatus(device->handle, fence);
        if (result == VK_NOT_READY && vkf__now_ns() >= until)
            return VK_TIMEOUT;
        if (result == VK_NOT_READY)
            vkf__yield();
    }
    return result;
}

static VkResult wait_for(vkf__submission *submission)
{
    vkf__device *device = submission->device;
    VkResult result = VK_TIMEOUT;
    if (device->plan.caps.traits.spins && submission->expected_ns < SHORT_NS)
        result = spin(device, submission->fence, submission->submitted_ns + submission->expected_ns - vkf__now_ns());
    if (result == VK_TIMEOUT)
        result = device->vk.vkWaitForFences(device->handle, 1, &submission->fence, VK_TRUE, UINT64_MAX);
    submission->expected_ns = vkf__now_ns() - submission->submitted_ns;
    return result;
}

// Semaphores in the arrays that vkQueueSubmit() takes.
typedef struct semaphore_list {
    VkSemaphore handles[VKF_MAX_SUBMIT_SEMAPHORES];
    uint64_t values[VKF_MAX_SUBMIT_SEMAPHORES];
    bool timeline; // one of them is
} semaphore_list;

static semaphore_list list_semaphores(const vkf__semaphore_value *items, uint32_t count)
{
    semaphore_list list = {0};
    for (uint32_t i = 0; i < count; i++) {
        list.handles[i] = items[i].semaphore;
        list.values[i] = items[i].value;
        list.timeline = list.timeline || items[i].value > 0;
    }
    return list;
}

static vkf_status check_usable(vkf__device *device)
{
    VKF_RETURN_IF_ERROR(vkf__device_check_process(device, "submission"));
    VKF_VK_OR_RETURN(device, device->lost ? VK_ERROR_DEVICE_LOST : VK_SUCCESS);
    return VKF_OK;
}

static vkf_status enqueue(vkf__device *device, const VkCommandBuffer *command_buffers, uint32_t count,
                          const vkf__submit_semaphores *semaphores, VkFence fence)
{
    assert(semaphores->wait_count <= VKF_MAX_SUBMIT_SEMAPHORES);
    assert(semaphores->signal_count <= VKF_MAX_SUBMIT_SEMAPHORES);
    const semaphore_list waits = list_semaphores(semaphores->waits, semaphores->wait_count);
    const semaphore_list signals = list_semaphores(semaphores->signals, semaphores->signal_count);
    VkPipelineStageFlags stages[VKF_MAX_SUBMIT_SEMAPHORES];
    for (uint32_t i = 0; i < semaphores->wait_count; i++)
        stages[i] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
    const VkTimelineSemaphoreSubmitInfo values = {
        .sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
        .waitSemaphoreValueCount = semaphores->wait_count,
        .pWaitSemaphoreValues = waits.values,
        .signalSemaphoreValueCount = semaphores->signal_count,
        .pSignalSemaphoreValues = signals.values,
    };
    const VkSubmitInfo info = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .pNext = waits.timeline || signals.timeline ? &values : NULL,
        .waitSemaphoreCount = semaphores->wait_count,
        .pWaitSemaphores = waits.handles,
        .pWaitDstStageMask = stages,
        .commandBufferCount = count,
        .pCommandBuffers = command_buffers,
        .signalSemaphoreCount = semaphores->signal_count,
        .pSignalSemaphores = signals.handles,
    };
    vkf__device_lock_queue(device);
    VkResult submitted = device->vk.vkQueueSubmit(device->queue, 1, &info, fence);
    vkf__device_unlock_queue(device);
    VKF_VK_OR_RETURN(device, submitted);
    return VKF_OK;
}

vkf_status vkf__submission_submit_ahead(vkf__submission *submission, const VkCommandBuffer *command_buffers,
                                        uint32_t count, const vkf__submit_semaphores *semaphores)
{
    VKF_RETURN_IF_ERROR(check_usable(submission->device));
    return enqueue(submission->device, command_buffers, count, semaphores, VK_NULL_HANDLE);
}

vkf_status vkf__submission_submit_with(vkf__submission *submission, const VkCommandBuffer *command_buffers,
                                       uint32_t count, const vkf__submit_semaphores *semaphores)
{
    vkf__device *device = submission->device;
    VKF_RETURN_IF_ERROR(check_usable(device));
    VKF_VK_OR_RETURN(device, device->vk.vkResetFences(device->handle, 1, &submission->fence));
    VKF_RETURN_IF_ERROR(enqueue(device, command_buffers, count, semaphores, submission->fence));
    submission->submitted_ns = vkf__now_ns();
    return VKF_OK;
}

vkf_status vkf__submission_submit(vkf__submission *submission, const VkCommandBuffer *command_buffers, uint32_t count)
{
    const vkf__submit_semaphores none = {0};
    return vkf__submission_submit_with(submission, command_buffers, count, &none);
}

vkf_status vkf__submission_ended(vkf__submission *submission, bool *out_ended)
{
    vkf__device *device = submission->device;
    const VkResult result = device->vk.vkGetFenceStatus(device->handle, submission->fence);
    if (result != VK_NOT_READY)
        VKF_VK_OR_RETURN(device, result);
    *out_ended = result == VK_SUCCESS;
    return VKF_OK;
}

void vkf__submission_idle(vkf__submission *submission)
{
    vkf__device *device = submission->device;
    vkf__device_lock_queue(device);
    (void)device->vk.vkQueueWaitIdle(device->queue);
    vkf__device_unlock_queue(device);
}

vkf_status vkf__submission_wait(vkf__submission *submission)
{
    vkf__device *device = submission->device;
    VkResult waited = wait_for(submission);
    // The work is still in flight: nothing that it uses may be touched or freed before the queue is idle.
    if (waited != VK_SUCCESS && waited != VK_ERROR_DEVICE_LOST)
        vkf__submission_idle(submission);
    VKF_VK_OR_RETURN(device, waited);
    return VKF_OK;
}

vkf_status vkf__submission_run(vkf__submission *submission, const VkCommandBuffer *command_buffers, uint32_t count)
{
    VKF_RETURN_IF_ERROR(vkf__submission_submit(submission, command_buffers, count));
    return vkf__submission_wait(submission);
}

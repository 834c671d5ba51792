// Command buffers, and the queue that runs them.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "op/execution.h"
#include "op/operators.h"
#include "reference/reference_device.h"
#include "vk/named_function.h"

typedef enum command_kind { DISPATCH, FOREIGN, COPY, FILL, UPDATE, TIMESTAMP, EXECUTE } command_kind;

typedef struct command {
    command_kind kind;
    vkf__reference_dispatch *dispatch;
    VkBuffer from, to;
    VkBufferCopy region;
    uint32_t word;  // what FILL writes
    uint8_t *bytes; // what UPDATE writes; owned, as is the dispatch
    VkQueryPool pool;
    uint32_t query;
    struct buffer *commands; // what EXECUTE runs
} command;

typedef struct buffer {
    command *list;
    size_t count, capacity;
    bool failed; // memory ended while it was recorded
    struct pool *pool;
    struct buffer *next; // of its pool
} buffer;

typedef struct pool {
    buffer *buffers;
} pool;

static buffer *buffer_of(VkCommandBuffer handle)
{
    return (buffer *)(void *)handle;
}

static void clear(buffer *b)
{
    for (size_t i = 0; i < b->count; i++) {
        free(b->list[i].bytes);
        free(b->list[i].dispatch);
    }
    b->count = 0;
    b->failed = false;
}

static void release(buffer *b)
{
    clear(b);
    free(b->list);
    free(b);
}

static void add(VkCommandBuffer handle, const command *added)
{
    buffer *b = buffer_of(handle);
    if (b->count == b->capacity) {
        const size_t capacity = b->capacity > 0 ? 2 * b->capacity : 32;
        command *list = realloc(b->list, capacity * sizeof *list);
        if (!list) {
            b->failed = true;
            free(added->bytes);
            free(added->dispatch);
            return;
        }
        b->list = list;
        b->capacity = capacity;
    }
    b->list[b->count++] = *added;
}

// ---- recording

static VKAPI_ATTR VkResult VKAPI_CALL create_pool(VkDevice device, const VkCommandPoolCreateInfo *info,
                                                  const VkAllocationCallbacks *callbacks, VkCommandPool *out)
{
    pool *made = calloc(1, sizeof *made);
    (void)device, (void)info, (void)callbacks;
    *out = (VkCommandPool)(uintptr_t)made;
    return made ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VKAPI_ATTR void VKAPI_CALL destroy_pool(VkDevice device, VkCommandPool handle,
                                               const VkAllocationCallbacks *callbacks)
{
    pool *destroyed = VKF_REFERENCE_OBJECT(pool, handle);
    (void)device, (void)callbacks;
    while (destroyed && destroyed->buffers) {
        buffer *first = destroyed->buffers;
        destroyed->buffers = first->next;
        release(first);
    }
    free(destroyed);
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_pool(VkDevice device, VkCommandPool handle, VkCommandPoolResetFlags flags)
{
    (void)device, (void)flags;
    for (buffer *b = VKF_REFERENCE_OBJECT(pool, handle)->buffers; b; b = b->next)
        clear(b);
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL allocate_buffers(VkDevice device, const VkCommandBufferAllocateInfo *info,
                                                       VkCommandBuffer *out)
{
    pool *from = VKF_REFERENCE_OBJECT(pool, info->commandPool);
    (void)device;
    for (uint32_t i = 0; i < info->commandBufferCount; i++) {
        buffer *made = calloc(1, sizeof *made);
        out[i] = (VkCommandBuffer)(void *)made;
        if (!made)
            return VK_ERROR_OUT_OF_HOST_MEMORY; // the pool frees those before it
        made->pool = from;
        made->next = from->buffers;
        from->buffers = made;
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL free_buffers(VkDevice device, VkCommandPool handle, uint32_t count,
                                               const VkCommandBuffer *buffers)
{
    (void)device;
    for (uint32_t i = 0; i < count; i++) {
        buffer *freed = buffer_of(buffers[i]), **at = &VKF_REFERENCE_OBJECT(pool, handle)->buffers;
        while (*at && *at != freed)
            at = &(*at)->next;
        if (!*at)
            continue;
        *at = freed->next;
        release(freed);
    }
}

static VKAPI_ATTR VkResult VKAPI_CALL begin_buffer(VkCommandBuffer handle, const VkCommandBufferBeginInfo *info)
{
    (void)info;
    clear(buffer_of(handle));
    return VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL end_buffer(VkCommandBuffer handle)
{
    return buffer_of(handle)->failed ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_SUCCESS;
}

static VKAPI_ATTR VkResult VKAPI_CALL reset_buffer(VkCommandBuffer handle, VkCommandBufferResetFlags flags)
{
    (void)flags;
    clear(buffer_of(handle));
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL record_reference(VkCommandBuffer handle, const vkf__reference_dispatch *dispatch)
{
    const command added = {.kind = DISPATCH, .dispatch = malloc(sizeof *dispatch)};
    if (added.dispatch) {
        *added.dispatch = *dispatch;
        add(handle, &added);
    } else {
        buffer_of(handle)->failed = true;
    }
}

static VKAPI_ATTR void VKAPI_CALL record_copy(VkCommandBuffer handle, VkBuffer from, VkBuffer to, uint32_t count,
                                              const VkBufferCopy *regions)
{
    for (uint32_t i = 0; i < count; i++)
        add(handle, &(command){.kind = COPY, .from = from, .to = to, .region = regions[i]});
}

static VKAPI_ATTR void VKAPI_CALL record_fill(VkCommandBuffer handle, VkBuffer to, VkDeviceSize offset,
                                              VkDeviceSize size, uint32_t word)
{
    const uint64_t whole = VKF_REFERENCE_OBJECT(vkf__reference_buffer, to)->size_bytes - offset;
    add(handle, &(command){.kind = FILL,
                           .to = to,
                           .region = {.dstOffset = offset, .size = size == VK_WHOLE_SIZE ? whole / 4 * 4 : size},
                           .word = word});
}

static VKAPI_ATTR void VKAPI_CALL record_update(VkCommandBuffer handle, VkBuffer to, VkDeviceSize offset,
                                                VkDeviceSize size, const void *data)
{
    const command added = {
        .kind = UPDATE, .to = to, .region = {.dstOffset = offset, .size = size}, .bytes = malloc((size_t)size)};
    if (added.bytes) {
        memcpy(added.bytes, data, (size_t)size);
        add(handle, &added);
    } else {
        buffer_of(handle)->failed = true;
    }
}

static VKAPI_ATTR void VKAPI_CALL record_timestamp(VkCommandBuffer handle, VkPipelineStageFlagBits stage,
                                                   VkQueryPool queries, uint32_t query)
{
    (void)stage;
    add(handle, &(command){.kind = TIMESTAMP, .pool = queries, .query = query});
}

static VKAPI_ATTR void VKAPI_CALL record_execute(VkCommandBuffer handle, uint32_t count, const VkCommandBuffer *buffers)
{
    for (uint32_t i = 0; i < count; i++)
        add(handle, &(command){.kind = EXECUTE, .commands = buffer_of(buffers[i])});
}

// Commands run in their order, one after the other.
static VKAPI_ATTR void VKAPI_CALL record_barrier(VkCommandBuffer handle, VkPipelineStageFlags from,
                                                 VkPipelineStageFlags to, VkDependencyFlags flags, uint32_t memory,
                                                 const VkMemoryBarrier *memories, uint32_t buffers,
                                                 const VkBufferMemoryBarrier *buffer_list, uint32_t images,
                                                 const VkImageMemoryBarrier *image)
{
    (void)handle, (void)from, (void)to, (void)flags, (void)memory, (void)memories, (void)buffers, (void)buffer_list;
    (void)images, (void)image;
}

static VKAPI_ATTR void VKAPI_CALL record_reset(VkCommandBuffer handle, VkQueryPool queries, uint32_t first,
                                               uint32_t count)
{
    (void)handle, (void)queries, (void)first, (void)count;
}

// A program that records into this device's command buffers by itself has no shader to run: what it dispatches is not
// done, and its submission says so.

static VKAPI_ATTR void VKAPI_CALL record_pipeline(VkCommandBuffer handle, VkPipelineBindPoint point,
                                                  VkPipeline pipeline)
{
    (void)handle, (void)point, (void)pipeline;
}

static VKAPI_ATTR void VKAPI_CALL record_sets(VkCommandBuffer handle, VkPipelineBindPoint point,
                                              VkPipelineLayout layout, uint32_t first, uint32_t count,
                                              const VkDescriptorSet *sets, uint32_t offset_count,
                                              const uint32_t *offsets)
{
    (void)handle, (void)point, (void)layout, (void)first, (void)count, (void)sets, (void)offset_count, (void)offsets;
}

static VKAPI_ATTR void VKAPI_CALL record_constants(VkCommandBuffer handle, VkPipelineLayout layout,
                                                   VkShaderStageFlags stages, uint32_t offset, uint32_t size,
                                                   const void *values)
{
    (void)handle, (void)layout, (void)stages, (void)offset, (void)size, (void)values;
}

static VKAPI_ATTR void VKAPI_CALL record_dispatch(VkCommandBuffer handle, uint32_t x, uint32_t y, uint32_t z)
{
    (void)x, (void)y, (void)z;
    add(handle, &(command){.kind = FOREIGN});
}

static VKAPI_ATTR void VKAPI_CALL record_indirect(VkCommandBuffer handle, VkBuffer grid, VkDeviceSize offset)
{
    (void)grid, (void)offset;
    add(handle, &(command){.kind = FOREIGN});
}

static VKAPI_ATTR void VKAPI_CALL record_query_begin(VkCommandBuffer handle, VkQueryPool queries, uint32_t query,
                                                     VkQueryControlFlags flags)
{
    (void)handle, (void)queries, (void)query, (void)flags;
}

static VKAPI_ATTR void VKAPI_CALL record_query_end(VkCommandBuffer handle, VkQueryPool queries, uint32_t query)
{
    (void)handle, (void)queries, (void)query;
}

// ---- running

static VkResult run_dispatch(const vkf__reference_dispatch *d)
{
    const vkf__op_info *info = vkf__operator(d->kernel->op);
    const uint32_t *grid = (const uint32_t *)(const void *)vkf__reference_bytes(d->control, d->grid_offset, 12);
    const void *stored = vkf__reference_bytes(d->control, d->params_offset, d->kernel->params_bytes);
    uint32_t params[VKF_OP_MAX_PARAMS];
    vkf__host host;
    if (!grid || !stored || d->kernel->params_bytes > sizeof params ||
        vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR) != VKF_OK)
        return VK_ERROR_DEVICE_LOST;
    if ((grid[0] == 0 && grid[1] == 0 && grid[2] == 0) || !info->reference)
        return VK_SUCCESS;
    memcpy(params, stored, d->kernel->params_bytes);
    vkf__execution e = {.kernel = d->kernel, .spec = d->spec, .params = params, .host = &host};
    for (uint32_t i = 0; i < d->kernel->operand_count; i++) {
        const vkf__reference_operand *o = &d->operands[i];
        uint8_t *bytes = o->size_bytes > 0 ? vkf__reference_bytes(o->buffer, o->offset_bytes, o->size_bytes) : NULL;
        if (bytes)
            e.operands[i] = (vkf__host_operand){bytes, o->size_bytes, o->dtype};
    }
    return info->reference(&e) == VKF_OK ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
}

static VkResult run_transfer(const command *c)
{
    uint8_t *to = vkf__reference_bytes(c->to, c->region.dstOffset, c->region.size);
    const uint8_t *from = c->kind == COPY     ? vkf__reference_bytes(c->from, c->region.srcOffset, c->region.size)
                          : c->kind == UPDATE ? c->bytes
                                              : (const uint8_t *)&c->word;
    if (!to || !from)
        return VK_ERROR_DEVICE_LOST;
    if (c->kind == FILL)
        for (uint64_t i = 0; i + 4 <= c->region.size; i += 4)
            memcpy(to + i, from, 4);
    else
        memmove(to, from, (size_t)c->region.size);
    return VK_SUCCESS;
}

static VkResult run_commands(const buffer *b);

static VkResult run_command(const command *c)
{
    switch (c->kind) {
    case DISPATCH:
        return run_dispatch(c->dispatch);
    case FOREIGN:
        return VK_ERROR_UNKNOWN;
    case TIMESTAMP:
        VKF_REFERENCE_OBJECT(vkf__reference_queries, c->pool)->ticks[c->query] = (uint64_t)vkf__now_ns();
        return VK_SUCCESS;
    case EXECUTE:
        return run_commands(c->commands);
    default:
        return run_transfer(c);
    }
}

static VkResult run_commands(const buffer *b)
{
    VkResult result = VK_SUCCESS;
    for (size_t i = 0; i < b->count && result == VK_SUCCESS; i++)
        result = run_command(&b->list[i]);
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos, VkFence fence)
{
    VkResult result = VK_SUCCESS;
    (void)queue;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < infos[i].commandBufferCount && result == VK_SUCCESS; k++)
            result = run_commands(buffer_of(infos[i].pCommandBuffers[k]));
    if (fence != VK_NULL_HANDLE)
        VKF_REFERENCE_OBJECT(vkf__reference_fence, fence)->signaled = true;
    return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_wait_idle(VkQueue queue)
{
    (void)queue;
    return VK_SUCCESS;
}

PFN_vkVoidFunction vkf__reference_command(const char *name)
{
    static const vkf__named_function functions[] = {
        VKF_NAMED_FUNCTION("vkQueueSubmit", submit),
        VKF_NAMED_FUNCTION("vkQueueWaitIdle", queue_wait_idle),
        VKF_NAMED_FUNCTION("vkCreateCommandPool", create_pool),
        VKF_NAMED_FUNCTION("vkDestroyCommandPool", destroy_pool),
        VKF_NAMED_FUNCTION("vkResetCommandPool", reset_pool),
        VKF_NAMED_FUNCTION("vkAllocateCommandBuffers", allocate_buffers),
        VKF_NAMED_FUNCTION("vkFreeCommandBuffers", free_buffers),
        VKF_NAMED_FUNCTION("vkBeginCommandBuffer", begin_buffer),
        VKF_NAMED_FUNCTION("vkEndCommandBuffer", end_buffer),
        VKF_NAMED_FUNCTION("vkResetCommandBuffer", reset_buffer),
        VKF_NAMED_FUNCTION(VKF_RECORD_REFERENCE, record_reference),
        VKF_NAMED_FUNCTION("vkCmdCopyBuffer", record_copy),
        VKF_NAMED_FUNCTION("vkCmdFillBuffer", record_fill),
        VKF_NAMED_FUNCTION("vkCmdUpdateBuffer", record_update),
        VKF_NAMED_FUNCTION("vkCmdWriteTimestamp", record_timestamp),
        VKF_NAMED_FUNCTION("vkCmdExecuteCommands", record_execute),
        VKF_NAMED_FUNCTION("vkCmdPipelineBarrier", record_barrier),
        VKF_NAMED_FUNCTION("vkCmdResetQueryPool", record_reset),
        VKF_NAMED_FUNCTION("vkCmdBindPipeline", record_pipeline),
        VKF_NAMED_FUNCTION("vkCmdBindDescriptorSets", record_sets),
        VKF_NAMED_FUNCTION("vkCmdPushConstants", record_constants),
        VKF_NAMED_FUNCTION("vkCmdDispatch", record_dispatch),
        VKF_NAMED_FUNCTION("vkCmdDispatchIndirect", record_indirect),
        VKF_NAMED_FUNCTION("vkCmdBeginQuery", record_query_begin),
        VKF_NAMED_FUNCTION("vkCmdEndQuery", record_query_end),
    };
    return VKF_FIND_FUNCTION(functions, name);
}

// Public entry points of buffers and tensors.
#include <vkformer/tensor.h>

#include "api/block_tensor.h"
#include "base/elements.h"
#include "base/sized.h"
#include "kernel/context.h"
#include "vk/external_memory.h"

// The buffer becomes the caller's.
static void give(vkf_context *context, vkf_buffer *buffer, vkf_buffer **out_buffer)
{
    vkf__context_hold(context, VKF_MADE_BUFFER);
    buffer->context = context;
    *out_buffer = buffer;
}

vkf_status vkf_buffer_create(vkf_context *context, uint64_t size_bytes, const char *name, vkf_buffer **out_buffer)
{
    vkf_buffer *buffer = NULL;
    if (!context || !out_buffer)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    VKF_TRY(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, size_bytes, name ? name : "buffer", &buffer));
    VKF_TRY(vkf__buffer_clear(buffer));
    give(context, buffer, out_buffer);
    return VKF_OK;
fail:
    vkf__buffer_destroy(&buffer);
    return status;
}

vkf_status vkf_buffer_create_exportable(vkf_context *context, vkf_memory_kind kind, uint64_t size_bytes,
                                        const char *name, vkf_buffer **out_buffer)
{
    vkf_status status = VKF_OK;
    vkf_buffer *buffer = NULL;
    if (!context || !out_buffer)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(context, __func__));
    VKF_TRY(vkf__buffer_create_exportable(&context->transfer, kind, size_bytes, name ? name : "buffer", &buffer));
    VKF_TRY(vkf__buffer_clear(buffer));
    give(context, buffer, out_buffer);
    return VKF_OK;
fail:
    vkf__buffer_destroy(&buffer);
    return status;
}

vkf_status vkf_buffer_export_sized(vkf_buffer *buffer, vkf_exported_memory *out_memory, size_t memory_bytes)
{
    if (!buffer || !out_memory)
        return vkf__null_argument(__func__);
    vkf_exported_memory memory;
    VKF_RETURN_IF_ERROR(vkf__check_sized(buffer->transfer->memory->device->host, "vkf_buffer_export", memory_bytes));
    VKF_RETURN_IF_ERROR(vkf__buffer_export(buffer, &memory));
    (void)vkf__give_sized(out_memory, memory_bytes, &memory, sizeof memory);
    return VKF_OK;
}

vkf_status vkf_buffer_import_sized(vkf_context *context, const vkf_imported_memory *from, size_t from_bytes,
                                   vkf_buffer **out_buffer)
{
    vkf_buffer *buffer = NULL;
    if (!context || !from || !out_buffer)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(context, "vkf_buffer_import"));
    VKF_TAKE_SIZED(&context->host, "vkf_buffer_import", vkf_imported_memory, from, from_bytes);
    VKF_RETURN_IF_ERROR(vkf__buffer_import(&context->transfer, from, &buffer));
    give(context, buffer, out_buffer);
    return VKF_OK;
}

void vkf_buffer_destroy(vkf_buffer **buffer)
{
    if (!buffer || !*buffer)
        return;
    vkf_buffer *gone = *buffer;
    vkf_context *context = gone->context;
    *buffer = NULL;
    if (vkf__device_is_inherited(gone->transfer->memory->device))
        return;
    vkf__buffer_destroy(&gone);
    if (context)
        vkf__context_drop(context, VKF_MADE_BUFFER);
}

vkf_status vkf_tensor_create(vkf_context *context, vkf_dtype dtype, uint32_t rank, const uint32_t *shape,
                             const char *name, vkf_tensor *out_tensor)
{
    if (!context || !out_tensor || (rank > 0 && !shape))
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(context, __func__);
    if (status != VKF_OK)
        return status;
    vkf_tensor tensor = {.dtype = dtype, .rank = rank};
    if (rank == 0 || rank > VKF_MAX_RANK || vkf_dtype_block_bytes(dtype) == 0)
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT, "vkf_tensor_create: rank %u, dtype %d", rank,
                         (int)dtype);
    for (uint32_t i = 0; i < rank; i++)
        tensor.shape[i] = shape[i];
    uint64_t size = 0;
    const bool weight = vkf__is_blocks(dtype) && rank == 2;
    tensor.layout = weight ? VKF_LAYOUT_PANELS : VKF_LAYOUT_ROWS;
    if (vkf__is_blocks(dtype) &&
        ((!weight && !vkf__is_block_rows(&tensor)) || shape[rank - 1] % vkf_dtype_block_elements(dtype) != 0))
        return vkf__fail(&context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "vkf_tensor_create: a tensor of type %s is a weight (n, k), or of q8 keys (B, H, S, D), with "
                         "k or D a multiple of 32",
                         vkf_dtype_name(dtype));
    if (!vkf_tensor_bytes(&tensor, &size))
        return vkf__fail(&context->host, VKF_ERROR_TOO_LARGE, "vkf_tensor_create: the shape overflows");
    status = vkf_buffer_create(context, size > 0 ? size : vkf_dtype_block_bytes(dtype), name, &tensor.buffer);
    if (status == VKF_OK)
        *out_tensor = tensor;
    return status;
}

void vkf_tensor_destroy(vkf_tensor *tensor)
{
    if (!tensor)
        return;
    vkf_buffer_destroy(&tensor->buffer);
    *tensor = (vkf_tensor){0};
}

static vkf_status check_transfer(const vkf_tensor *tensor, uint64_t size_bytes, const char *function)
{
    uint64_t bytes = 0;
    if (!tensor || !tensor->buffer)
        return vkf__null_argument(function);
    const vkf__device *device = tensor->buffer->transfer->memory->device;
    vkf_status status = vkf__device_check_process(device, function);
    if (status != VKF_OK)
        return status;
    const bool blocks = vkf__is_block_tensor(tensor, &bytes);
    const bool rows = tensor->layout == VKF_LAYOUT_ROWS && vkf_tensor_bytes(tensor, &bytes);
    if ((!blocks && !rows) || bytes != size_bytes)
        return vkf__fail(device->host, VKF_ERROR_INVALID_ARGUMENT,
                         "tensor transfer: the size given is not the tensor's, or it does not lie in rows");
    return VKF_OK;
}

vkf_status vkf_tensor_write(const vkf_tensor *tensor, const void *data, uint64_t size_bytes)
{
    vkf_status status = check_transfer(tensor, size_bytes, __func__);
    if (status != VKF_OK)
        return status;
    return tensor->layout == VKF_LAYOUT_PANELS && data
               ? vkf__block_rows_write(tensor, 0, tensor->shape[0], data)
               : vkf_buffer_write(tensor->buffer, tensor->offset_bytes, data, size_bytes);
}

vkf_status vkf_tensor_read(const vkf_tensor *tensor, void *out_data, uint64_t size_bytes)
{
    vkf_status status = check_transfer(tensor, size_bytes, __func__);
    if (status != VKF_OK)
        return status;
    return tensor->layout == VKF_LAYOUT_PANELS && out_data
               ? vkf__block_rows_read(tensor, 0, tensor->shape[0], out_data)
               : vkf_buffer_read(tensor->buffer, tensor->offset_bytes, out_data, size_bytes);
}

#include "model/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "kernel/memory_plan.h"
#include "model/family.h"
#include "model/weight_blocks.h"
#include "model/weight_upload.h"
#include "op/pack.h"
#include "shared/gemm.h"

// Tensors are packed into buffers of about this size: few allocations, each one well below what devices allow.
#define BUFFER_BYTES (UINT64_C(256) << 20)

// Where the tensors of the slots go: buffer and offset each, and the buffers' sizes.
typedef struct placement {
    vkf_tensor *tensors;    // per slot: offset, type, shape and layout; rank 0: no tensor of its own
    uint32_t *buffer_index; // per slot
    uint64_t *buffer_bytes; // per buffer
    size_t buffer_count;
    uint64_t rows_bytes; // of the largest tensor that is put into panels
} placement;

static void placement_free(const vkf__host *host, placement *p)
{
    vkf__free(host, p->tensors);
    vkf__free(host, p->buffer_index);
    vkf__free(host, p->buffer_bytes);
}

// Panels of a weight that is cut, as in_proj_weight is into those of q, k and v, are whole in each part.
static vkf_layout layout_of(const vkf_context *context, const vkf__weight_slot *slot, vkf__weight_storage storage)
{
    const vkf_dtype types[] = {storage.activations, storage.weights, storage.activations};
    uint32_t part = slot->cut > 0 ? slot->shape[0] / slot->cut : slot->shape[0];
    bool whole = slot->cut == 0 || part % VKF_GEMM_PANEL == 0;
    bool panels = slot->linear && whole && vkf__wants_panels(context, types, part, slot->shape[1]);
    return panels ? VKF_LAYOUT_PANELS : VKF_LAYOUT_ROWS;
}

static vkf_tensor tensor_of(const vkf_context *context, const vkf__weight_slot *slot, vkf__weight_storage storage)
{
    if (vkf__is_blocks(storage.linear) && vkf__fits_blocks(slot))
        return (vkf_tensor){
            .dtype = storage.linear,
            .rank = 2,
            .shape = {slot->shape[0], slot->shape[1]},
            .layout = VKF_LAYOUT_PANELS,
        };
    vkf_layout layout = layout_of(context, slot, storage);
    if (slot->tied && layout == VKF_LAYOUT_ROWS)
        return (vkf_tensor){0};
    return (vkf_tensor){
        .dtype = slot->f32 ? VKF_DTYPE_F32 : storage.weights,
        .rank = slot->rank,
        .shape = {slot->shape[0], slot->shape[1]},
        .layout = layout,
    };
}

static vkf_status place(vkf_context *context, const vkf__weight_slot *slots, size_t count, vkf__weight_storage storage,
                        placement *out)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &context->host;
    uint64_t alignment = context->device.plan.buffer_alignment;
    placement p = {0};
    VKF_ALLOC(host, p.tensors, count);
    VKF_ALLOC(host, p.buffer_index, count);
    VKF_ALLOC(host, p.buffer_bytes, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = 0, elements = 0;
        p.tensors[i] = tensor_of(context, &slots[i], storage);
        if (p.tensors[i].rank == 0)
            continue;
        (void)vkf_tensor_bytes(&p.tensors[i], &bytes);
        (void)vkf_tensor_count(&p.tensors[i], &elements);
        uint64_t rows_bytes = elements * vkf_dtype_size(p.tensors[i].dtype); // 0 for blocks, which come in panels
        if (p.tensors[i].layout == VKF_LAYOUT_PANELS && rows_bytes > p.rows_bytes)
            p.rows_bytes = rows_bytes;
        bytes = vkf__align_u64(bytes, alignment);
        if (p.buffer_count == 0 || p.buffer_bytes[p.buffer_count - 1] + bytes > BUFFER_BYTES)
            p.buffer_count++;
        uint64_t *used = &p.buffer_bytes[p.buffer_count - 1];
        p.buffer_index[i] = (uint32_t)(p.buffer_count - 1);
        p.tensors[i].offset_bytes = *used;
        *used += bytes;
    }
    *out = p;
    return VKF_OK;
fail:
    placement_free(host, &p);
    return status;
}

// The shape of the tensor in a file: that of all parts of a fused one, and transposed where the file's is.
typedef struct stored_shape {
    uint32_t rank, size[2];
} stored_shape;

static stored_shape shape_in_file(const vkf__weight_slot *slot)
{
    stored_shape shape = {slot->rank, {slot->shape[0] * (slot->parts > 0 ? slot->parts : 1), slot->shape[1]}};
    if (slot->transposed) {
        shape.size[1] = shape.size[0];
        shape.size[0] = slot->shape[1];
    }
    if (slot->as_row)
        shape = (stored_shape){2, {1, slot->shape[0]}};
    return shape;
}

static vkf_status fail_shape(const vkf__host *host, const char *path, const vkf__weight_slot *slot,
                             const vkf__stored_tensor *stored, const stored_shape *shape)
{
    char got[64] = "", expected[64];
    size_t used = 0;
    for (uint32_t i = 0; i < stored->rank && used < sizeof got; i++)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%" PRIu64, i > 0 ? ", " : "", stored->shape[i]);
    if (shape->rank == 2)
        snprintf(expected, sizeof expected, "%u, %u", shape->size[0], shape->size[1]);
    else
        snprintf(expected, sizeof expected, "%u", shape->size[0]);
    return vkf__fail(host, VKF_ERROR_FORMAT, "%s: tensor %s has shape (%s), the configuration asks for (%s)", path,
                     slot->name, got, expected);
}

static vkf_status find(vkf_context *context, const vkf__checkpoint *checkpoint, const vkf__weight_slot *slot,
                       const vkf__stored_tensor **out_stored)
{
    const vkf__host *host = &context->host;
    const vkf__stored_tensor *stored = vkf__checkpoint_find(checkpoint, slot->name);
    if (!stored)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: tensor %s is missing", vkf__checkpoint_path(checkpoint),
                         slot->name);
    vkf_dtype blocks;
    if (vkf__stored_in_blocks(slot, stored, &blocks)) {
        *out_stored = stored;
        return VKF_OK;
    }
    const char *path = vkf__checkpoint_path_of(checkpoint, stored);
    const stored_shape shape = shape_in_file(slot);
    bool same = stored->rank == shape.rank;
    for (uint32_t i = 0; same && i < shape.rank; i++)
        same = stored->shape[i] == shape.size[i];
    if (!same)
        return fail_shape(host, path, slot, stored, &shape);
    if (stored->type != VKF_STORED_F32 && stored->type != VKF_STORED_F16 && stored->type != VKF_STORED_BF16)
        return vkf__fail(host, VKF_ERROR_FORMAT, "%s: tensor %s is stored as %s, expected F32, F16 or BF16", path,
                         slot->name, vkf__stored_type_name(stored->type));
    *out_stored = stored;
    return VKF_OK;
}

// Everything that loading decides before it allocates: which tensors, found and checked, and where they go.
typedef struct preparation {
    vkf__weights weights; // layer arrays alone
    vkf__weight_slot *slots;
    const vkf__stored_tensor **stored; // per slot
    size_t count;
    vkf__weight_storage storage;
    placement places;
    vkf_buffer *rows; // a weight on its way into panels; NULL when none is
} preparation;

static void preparation_free(vkf_context *context, preparation *p)
{
    placement_free(&context->host, &p->places);
    vkf_buffer_destroy(&p->rows);
    vkf__free(&context->host, p->slots);
    vkf__free(&context->host, p->stored);
    vkf__weights_free(context, &p->weights);
}

// A model with a head puts its own name before those of the model below it.
static const char *base_of(const vkf__model_source *source)
{
    const char *base = source->family->base;
    return vkf__checkpoint_has_prefix(source->checkpoint, base) ? base : "";
}

size_t vkf__model_slots(const vkf__model_source *source, vkf__weights *weights, vkf__weight_slot *slots)
{
    if (source->family)
        return vkf__family_slots(source->family, base_of(source), &source->config, weights, slots);
    return vkf__weight_slots(&source->config, weights, slots);
}

// Weights that are in blocks already stay what they are, and so are tied ones then, which are not stored a second time.
static vkf_status settle_storage(const vkf__host *host, const vkf__checkpoint *checkpoint, preparation *p)
{
    for (size_t i = 0; i < p->count; i++) {
        vkf_dtype stored;
        if (!vkf__stored_in_blocks(&p->slots[i], p->stored[i], &stored))
            continue;
        if (!vkf__is_blocks(p->storage.linear))
            p->storage.linear = stored;
        if (p->storage.linear != stored)
            return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                             "%s: tensor %s is stored as %s, from which there is no way to %s",
                             vkf__checkpoint_path_of(checkpoint, p->stored[i]), p->slots[i].name,
                             vkf_dtype_name(stored), vkf_dtype_name(p->storage.linear));
    }
    return VKF_OK;
}

// The slots point into p->weights, which therefore stays where it is until they are filled.
static vkf_status prepare(vkf_context *context, const vkf__model_source *source, vkf__weight_storage storage,
                          preparation *p)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &source->config;
    if (config->num_encoder_layers > 0)
        VKF_ALLOC(&context->host, p->weights.encoder, config->num_encoder_layers);
    if (config->num_decoder_layers > 0)
        VKF_ALLOC(&context->host, p->weights.decoder, config->num_decoder_layers);
    p->count = vkf__model_slots(source, &p->weights, NULL);
    VKF_ALLOC(&context->host, p->slots, p->count);
    (void)vkf__model_slots(source, &p->weights, p->slots);
    VKF_ALLOC(&context->host, p->stored, p->count);
    for (size_t i = 0; i < p->count; i++)
        VKF_TRY(find(context, source->checkpoint, &p->slots[i], &p->stored[i]));
    p->storage = storage;
    VKF_TRY(settle_storage(&context->host, source->checkpoint, p));
    VKF_TRY(place(context, p->slots, p->count, p->storage, &p->places));
fail:
    return status;
}

static vkf_status make_buffers(vkf_context *context, const placement *p, vkf__weights *weights, vkf_buffer **out_rows)
{
    vkf_status status = VKF_OK;
    if (p->rows_bytes > 0)
        VKF_TRY(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, p->rows_bytes, "weights in rows", out_rows));
    VKF_ALLOC(&context->host, weights->buffers, p->buffer_count);
    for (size_t i = 0; i < p->buffer_count; i++) {
        VKF_TRY(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, p->buffer_bytes[i], "weights",
                                   &weights->buffers[i]));
        weights->buffer_count++;
    }
fail:
    return status;
}

// Tensors that no slot asked for are most likely a sign of a configuration that does not belong to the file; in the files
// of a family they are heads and constants. Several slots may share a tensor: then they follow each other, or are tied.
static void report_unused(vkf_context *context, const vkf__model_source *source, const preparation *p)
{
    size_t used = 0, count = vkf__checkpoint_count(source->checkpoint);
    for (size_t i = 0; i < p->count; i++)
        used += !p->slots[i].tied && p->slots[i].part == 0;
    if (count > used)
        vkf__log(&context->host, source->family ? VKF_SEVERITY_INFO : VKF_SEVERITY_WARNING,
                 "%s: %zu tensors of %zu are not used by this configuration", vkf__checkpoint_path(source->checkpoint),
                 count - used, count);
}

// Slot `index` of what was prepared, now that the buffers exist.
static vkf_status fill_slot(vkf_context *context, const vkf__checkpoint *checkpoint, preparation *p, size_t index)
{
    vkf_status status = VKF_OK;
    vkf_tensor tensor = p->places.tensors[index];
    if (tensor.rank == 0)
        return VKF_OK;
    tensor.buffer = p->weights.buffers[p->places.buffer_index[index]];
    if (vkf__is_blocks(tensor.dtype)) {
        const vkf__block_source blocks = {&context->host, checkpoint, p->stored[index], &p->slots[index], tensor.dtype};
        VKF_TRY(vkf__upload_blocks(&blocks, &tensor));
    } else if (tensor.layout == VKF_LAYOUT_PANELS) {
        vkf_tensor rows = tensor;
        rows.buffer = p->rows;
        rows.offset_bytes = 0;
        rows.layout = VKF_LAYOUT_ROWS;
        VKF_TRY(vkf__upload_weight(context, checkpoint, p->stored[index], &p->slots[index], &rows));
        VKF_TRY(vkf__pack(context, &rows, &tensor));
    } else {
        VKF_TRY(vkf__upload_weight(context, checkpoint, p->stored[index], &p->slots[index], &tensor));
    }
    *p->slots[index].target = tensor;
fail:
    return status;
}

vkf_status vkf__weights_load(vkf_context *context, const vkf__model_source *source, vkf__weight_storage storage,
                             vkf__weights *out_weights)
{
    vkf_status status = VKF_OK;
    preparation p = {0};
    VKF_TRY(prepare(context, source, storage, &p));
    VKF_TRY(make_buffers(context, &p.places, &p.weights, &p.rows));
    for (size_t i = 0; i < p.count; i++) {
        if (source->progress &&
            !source->progress(source->progress_user, (uint32_t)i, (uint32_t)p.count, p.slots[i].name)) {
            status = VKF_ERROR_CANCELLED;
            goto fail;
        }
        VKF_TRY(fill_slot(context, source->checkpoint, &p, i));
    }
    report_unused(context, source, &p);
    vkf__weights_link(source, &p.weights);
    *out_weights = p.weights;
    p.weights = (vkf__weights){0};
fail:
    preparation_free(context, &p);
    return status;
}

void vkf__weights_free(vkf_context *context, vkf__weights *weights)
{
    for (size_t i = 0; i < weights->buffer_count; i++)
        vkf_buffer_destroy(&weights->buffers[i]);
    vkf__free(&context->host, weights->buffers);
    vkf__free(&context->host, weights->encoder);
    vkf__free(&context->host, weights->decoder);
    *weights = (vkf__weights){0};
}

// Tensors without buffers: their sizes are what a plan asks for.
static void give_shapes(const vkf__model_source *source, preparation *p, vkf__weights *out_shapes)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->places.tensors[i].rank > 0)
            *p->slots[i].target = p->places.tensors[i];
    vkf__weights_link(source, &p->weights);
    *out_shapes = p->weights;
    p->weights = (vkf__weights){0};
}

vkf_status vkf__weights_plan(vkf_context *context, const vkf__model_source *source, vkf__weight_storage storage,
                             vkf_memory_plan *plan, vkf__weights *out_shapes)
{
    vkf_status status = VKF_OK;
    preparation p = {0};
    VKF_TRY(prepare(context, source, storage, &p));
    if (out_shapes)
        give_shapes(source, &p, out_shapes);
    for (size_t i = 0; i < p.places.buffer_count; i++)
        vkf__memory_plan_add(plan, context, VKF_MEMORY_DEVICE, p.places.buffer_bytes[i], &plan->weights_bytes);
fail:
    preparation_free(context, &p);
    return status;
}

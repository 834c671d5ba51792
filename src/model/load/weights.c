// Loads a model's weights: decides their storage, layout and place, allocates buffers, and fills them.
#include "model/load/weights.h"

#include <stdio.h>

#include "base/size.h"
#include "kernel/memory_plan.h"
#include "model/family/weight_fusion.h"
#include "model/load/weight_blocks.h"
#include "model/load/weight_resolution.h"
#include "model/load/weight_upload.h"
#include "op/pack.h"
#include "prove/tune.h"
#include "shared/gemm.h"

// Tensors are packed into buffers of about this size. That makes few allocations, each well below what devices allow.
#define BUFFER_BYTES (UINT64_C(256) << 20)

// The buffer and the offset of each slot's tensor, and the sizes of the buffers.
typedef struct placement {
    vkf_tensor *tensors;    // per slot: offset, type, shape and layout; rank 0: it has no tensor of its own
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

// The number of rows of a slot's weight that one product multiplies by. Where the weight is cut these are the rows of a
// part, as in_proj_weight is cut into those of q, k and v.
static uint32_t part_rows(const vkf__weight_slot *slot)
{
    return slot->cut > 0 ? slot->shape[0] / slot->cut : slot->shape[0];
}

// A weight that is cut may have panels only where each part is whole panels.
static bool may_have_panels(const vkf__weight_slot *slot)
{
    return slot->linear && (slot->cut == 0 || part_rows(slot) % VKF_GEMM_PANEL == 0);
}

static vkf_layout layout_of(const vkf_context *context, const vkf__weight_slot *slot, vkf__weight_storage storage)
{
    const vkf_dtype types[] = {storage.activations, storage.weights, storage.activations};
    bool panels = !storage.trainable && may_have_panels(slot) &&
                  vkf__wants_panels(context, types, part_rows(slot), slot->shape[1]);
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

// Room for a slot's tensor, up to where the next one may begin.
static uint64_t place_bytes(const vkf_context *context, const vkf_tensor *tensor)
{
    uint64_t bytes = 0;
    if (tensor->rank > 0)
        (void)vkf_tensor_bytes(tensor, &bytes);
    return vkf__align_u64(bytes, context->device.plan.buffer_alignment);
}

// What has to fit the buffer in which slot `index` is put. Slots that one product multiplies by are only in one buffer
// one operand, and so the first of them asks for the room of all. They are not kept together where they are more than
// one operand may be, or than an allocation should be.
static uint64_t fused_bytes(const vkf_context *context, const vkf__weight_slot *slots, const vkf_tensor *tensors,
                            size_t count, size_t index)
{
    const vkf__weight_slot *own = &slots[index];
    const uint64_t own_bytes = place_bytes(context, &tensors[index]);
    uint64_t bytes = 0;
    size_t first = index;
    if (own->fusion == VKF_FUSION_NONE)
        return own_bytes;
    while (first > 0 && slots[first - 1].fusion == own->fusion && slots[first - 1].layer == own->layer)
        first--;
    for (size_t i = first; i < count && slots[i].fusion == own->fusion && slots[i].layer == own->layer; i++)
        bytes += place_bytes(context, &tensors[i]);
    if (bytes > 2 * BUFFER_BYTES || bytes > context->device.plan.caps.max_storage_buffer_range)
        return own_bytes;
    return index == first ? bytes : 0;
}

// Puts the tensor of slot `index` behind those before it, in a new buffer where this one has no room for `together`.
static void put(const vkf_context *context, size_t index, uint64_t together, placement *p)
{
    vkf_tensor *tensor = &p->tensors[index];
    uint64_t elements = 0;
    if (tensor->rank == 0)
        return;
    (void)vkf_tensor_count(tensor, &elements);
    uint64_t rows_bytes = elements * vkf_dtype_size(tensor->dtype); // 0 for blocks, which come in panels
    if (tensor->layout == VKF_LAYOUT_PANELS && rows_bytes > p->rows_bytes)
        p->rows_bytes = rows_bytes;
    if (p->buffer_count == 0 || p->buffer_bytes[p->buffer_count - 1] + together > BUFFER_BYTES)
        p->buffer_count++;
    uint64_t *used = &p->buffer_bytes[p->buffer_count - 1];
    p->buffer_index[index] = (uint32_t)(p->buffer_count - 1);
    tensor->offset_bytes = *used;
    *used += place_bytes(context, tensor);
}

static bool is_vector_of_layer(const vkf__weight_slot *slot)
{
    return slot->layer && slot->rank == 1;
}

// Puts the vectors of the layer that begins with slot `first` one behind the other, so that the bias of a product and
// the vectors of the norm ahead of it can be one operand.
static void put_vectors(const vkf_context *context, const vkf__weight_slot *slots, size_t count, size_t first,
                        placement *p)
{
    uint64_t together = 0;
    size_t end = first;
    while (end < count && slots[end].layer == slots[first].layer)
        end++;
    for (size_t i = first; i < end; i++)
        together += is_vector_of_layer(&slots[i]) ? place_bytes(context, &p->tensors[i]) : 0;
    for (size_t i = first; i < end; i++) {
        if (!is_vector_of_layer(&slots[i]))
            continue;
        put(context, i, together, p);
        together -= place_bytes(context, &p->tensors[i]);
    }
}

static vkf_status place(vkf_context *context, const vkf__weight_slot *slots, size_t count, vkf__weight_storage storage,
                        placement *out)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &context->host;
    placement p = {0};
    VKF_ALLOC(host, p.tensors, count);
    VKF_ALLOC(host, p.buffer_index, count);
    VKF_ALLOC(host, p.buffer_bytes, count);
    for (size_t i = 0; i < count; i++)
        p.tensors[i] = tensor_of(context, &slots[i], storage);
    for (size_t i = 0; i < count; i++) {
        if (slots[i].layer && (i == 0 || slots[i - 1].layer != slots[i].layer))
            put_vectors(context, slots, count, i, &p);
        if (!is_vector_of_layer(&slots[i]))
            put(context, i, fused_bytes(context, slots, p.tensors, count, i), &p);
    }
    *out = p;
    return VKF_OK;
fail:
    placement_free(host, &p);
    return status;
}

// Everything that loading decides before it allocates: the tensors that were found and checked, and their places.
typedef struct preparation {
    vkf__weight_resolution found; // its weights become the model's once they are loaded
    vkf__weight_storage storage;
    placement places;
    vkf_buffer *rows; // a weight on its way into panels; NULL when none is
} preparation;

static void preparation_free(vkf_context *context, preparation *p)
{
    placement_free(&context->host, &p->places);
    vkf__buffer_destroy(&p->rows);
    vkf__weights_free(context, &p->found.weights);
    vkf__weight_resolution_free(&context->host, &p->found);
}

// Weights that the file has in blocks stay in these blocks. Then all Linears that fit get this kind, even a tied
// projection, which the file holds only as the token embedding.
static vkf_status settle_storage(const vkf__host *host, const vkf__model_source *source, preparation *p)
{
    vkf_dtype stored = p->found.blocks;
    if (!vkf__is_blocks(stored))
        return VKF_OK;
    if (p->storage.trainable)
        return vkf__fail(host, VKF_ERROR_UNSUPPORTED,
                         "%s: its weights are stored as %s, which cannot be trained; train the model that it was made "
                         "from",
                         vkf__checkpoint_path(source->checkpoint), vkf_dtype_name(stored));
    if (vkf__is_blocks(p->storage.linear) && p->storage.linear != stored)
        return vkf__fail(
            host, VKF_ERROR_UNSUPPORTED, "%s: its weights are stored as %s, from which there is no way to %s",
            vkf__checkpoint_path(source->checkpoint), vkf_dtype_name(stored), vkf_dtype_name(p->storage.linear));
    p->storage.linear = stored;
    return VKF_OK;
}

// Where the context tunes on first use, measures the weights whose layout depends on the choice of kernels.
static vkf_status measure(vkf_context *context, const preparation *p)
{
    const vkf_dtype types[] = {p->storage.activations, p->storage.weights, p->storage.activations};
    for (size_t i = 0; i < p->found.count; i++) {
        const vkf__weight_slot *slot = &p->found.slots[i];
        bool blocks = vkf__is_blocks(p->storage.linear) && vkf__fits_blocks(slot);
        if (!blocks && !p->storage.trainable && may_have_panels(slot))
            VKF_RETURN_IF_ERROR(vkf__tune_weight(context, types, part_rows(slot), slot->shape[1]));
    }
    return VKF_OK;
}

// The slots point into p->found, which therefore must not move until they are filled.
static vkf_status prepare(vkf_context *context, const vkf__model_source *source, vkf__weight_storage storage,
                          preparation *p)
{
    p->storage = storage;
    VKF_RETURN_IF_ERROR(vkf__weights_resolve(&context->host, source, &p->found));
    return settle_storage(&context->host, source, p);
}

// `cleared`: what lies between the tensors are zeros.
static vkf_status make_buffers(vkf_context *context, const placement *p, bool cleared, vkf__weights *weights,
                               vkf_buffer **out_rows)
{
    if (p->rows_bytes > 0)
        VKF_RETURN_IF_ERROR(
            vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, p->rows_bytes, "weights in rows", out_rows));
    VKF_ALLOC_OR_RETURN(&context->host, weights->buffers, p->buffer_count);
    for (size_t i = 0; i < p->buffer_count; i++) {
        VKF_RETURN_IF_ERROR(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, p->buffer_bytes[i], "weights",
                                               &weights->buffers[i]));
        weights->buffer_count++;
        if (cleared)
            VKF_RETURN_IF_ERROR(vkf__buffer_clear(weights->buffers[i]));
    }
    return VKF_OK;
}

// Tensors that no slot asked for most likely mean that the configuration does not belong to the file; in the files of a
// family they are heads and constants. Slots that share a tensor are its parts or are tied, and only one of them is
// counted.
static void report_unused(vkf_context *context, const vkf__model_source *source, const preparation *p)
{
    size_t used = 0, count = vkf__checkpoint_count(source->checkpoint);
    for (size_t i = 0; i < p->found.count; i++)
        used += !p->found.slots[i].tied && p->found.slots[i].part == 0 && !p->found.slots[i].checkpoint;
    if (count > used && source->part.count == 0)
        vkf__log(&context->host, source->family ? VKF_SEVERITY_INFO : VKF_SEVERITY_WARNING,
                 "%s: %zu tensors of %zu are not used by this configuration", vkf__checkpoint_path(source->checkpoint),
                 count - used, count);
}

// Uploads the tensor of slot `index` to its place; the buffers exist now.
static vkf_status fill_slot(vkf_context *context, const vkf__checkpoint *checkpoint, preparation *p, size_t index)
{
    vkf_tensor tensor = p->places.tensors[index];
    if (tensor.rank == 0)
        return VKF_OK;
    tensor.buffer = p->found.weights.buffers[p->places.buffer_index[index]];
    if (vkf__is_blocks(tensor.dtype)) {
        const vkf__block_source blocks = {&context->host, checkpoint, p->found.stored[index], &p->found.slots[index],
                                          tensor.dtype};
        VKF_RETURN_IF_ERROR(vkf__upload_blocks(&blocks, &tensor));
    } else if (tensor.layout == VKF_LAYOUT_PANELS) {
        vkf_tensor rows = tensor;
        rows.buffer = p->rows;
        rows.offset_bytes = 0;
        rows.layout = VKF_LAYOUT_ROWS;
        VKF_RETURN_IF_ERROR(
            vkf__upload_weight(context, checkpoint, p->found.stored[index], &p->found.slots[index], &rows));
        VKF_RETURN_IF_ERROR(vkf__pack(context, &rows, &tensor));
    } else {
        VKF_RETURN_IF_ERROR(
            vkf__upload_weight(context, checkpoint, p->found.stored[index], &p->found.slots[index], &tensor));
    }
    *p->found.slots[index].target = tensor;
    return VKF_OK;
}

static uint32_t module_of(const vkf__model_source *source, const vkf__weight_slot *slot)
{
    uint32_t module = 0;
    while (slot->checkpoint && source->modules[module].checkpoint != slot->checkpoint)
        module++;
    return slot->checkpoint ? module + 1 : 0;
}

// Notes what can be trained. The buffers may be missing.
static vkf_status list_trainable(const vkf__host *host, const vkf__model_source *source, preparation *p)
{
    vkf__weights *weights = &p->found.weights;
    if (!p->storage.trainable)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(host, weights->trainable, p->found.count);
    for (size_t i = 0; i < p->found.count; i++) {
        vkf__trainable *to = &weights->trainable[weights->trainable_count];
        if (p->places.tensors[i].rank == 0)
            continue;
        *to = (vkf__trainable){p->found.slots[i], p->places.tensors[i], p->places.buffer_index[i],
                               module_of(source, &p->found.slots[i])};
        if (weights->buffers)
            to->tensor.buffer = weights->buffers[to->buffer];
        if (p->found.stored)
            snprintf(to->slot.name, sizeof to->slot.name, "%s", p->found.stored[i]->name);
        to->slot.target = NULL;
        to->slot.layer = NULL;
        to->slot.checkpoint = NULL;
        weights->trainable_count++;
    }
    return VKF_OK;
}

vkf_status vkf__weights_load(vkf_context *context, const vkf__model_source *source, vkf__weight_storage storage,
                             vkf__weights *out_weights)
{
    vkf_status status = VKF_OK;
    preparation p = {0};
    VKF_TRY(prepare(context, source, storage, &p));
    VKF_TRY(measure(context, &p));
    VKF_TRY(place(context, p.found.slots, p.found.count, p.storage, &p.places));
    VKF_TRY(make_buffers(context, &p.places, storage.trainable, &p.found.weights, &p.rows));
    VKF_TRY(list_trainable(&context->host, source, &p));
    for (size_t i = 0; i < p.found.count; i++) {
        if (source->progress &&
            !source->progress(source->progress_user, (uint32_t)i, (uint32_t)p.found.count, p.found.slots[i].name)) {
            status = VKF_ERROR_CANCELLED;
            goto fail;
        }
        VKF_TRY(fill_slot(context, vkf__slot_checkpoint(source, &p.found.slots[i]), &p, i));
    }
    VKF_TRY(vkf__checkpoint_check_unchanged(source->checkpoint));
    for (size_t i = 0; i < p.found.count; i++)
        if (p.found.slots[i].checkpoint)
            VKF_TRY(vkf__checkpoint_check_unchanged(p.found.slots[i].checkpoint));
    report_unused(context, source, &p);
    vkf__fusions_settle(p.found.slots, p.found.count);
    vkf__weights_link(source, &p.found.weights);
    *out_weights = p.found.weights;
    p.found.weights = (vkf__weights){0};
fail:
    preparation_free(context, &p);
    return status;
}

void vkf__weights_free(vkf_context *context, vkf__weights *weights)
{
    for (size_t i = 0; i < weights->buffer_count; i++)
        vkf__buffer_destroy(&weights->buffers[i]);
    vkf__free(&context->host, weights->buffers);
    vkf__free(&context->host, weights->encoder);
    vkf__free(&context->host, weights->decoder);
    vkf__free(&context->host, weights->trainable);
    *weights = (vkf__weights){0};
}

// Fills the slots with tensors that have no buffers, as a plan asks only for their sizes.
static void give_shapes(const vkf__model_source *source, preparation *p, vkf__weights *out_shapes)
{
    for (size_t i = 0; i < p->found.count; i++)
        if (p->places.tensors[i].rank > 0)
            *p->found.slots[i].target = p->places.tensors[i];
    vkf__fusions_settle(p->found.slots, p->found.count);
    vkf__weights_link(source, &p->found.weights);
    *out_shapes = p->found.weights;
    p->found.weights = (vkf__weights){0};
}

vkf_status vkf__weights_plan(vkf_context *context, const vkf__model_source *source, vkf__weight_storage storage,
                             vkf_memory_plan *plan, vkf__weights *out_shapes)
{
    vkf_status status = VKF_OK;
    preparation p = {0};
    VKF_TRY(prepare(context, source, storage, &p));
    VKF_TRY(place(context, p.found.slots, p.found.count, p.storage, &p.places));
    VKF_TRY(list_trainable(&context->host, source, &p));
    if (out_shapes)
        give_shapes(source, &p, out_shapes);
    for (size_t i = 0; i < p.places.buffer_count; i++) {
        const vkf__planned_buffer buffer = {"weights", VKF_MEMORY_DEVICE, p.places.buffer_bytes[i]};
        VKF_TRY(vkf__memory_plan_add(plan, context, buffer, &plan->weights_bytes));
    }
fail:
    preparation_free(context, &p);
    return status;
}

// The tensors of an object from one offset up to another, between which nothing else lies.
static void visit_run(void *object, size_t begin, size_t end, void (*visit)(void *user, vkf_tensor *tensor), void *user)
{
    for (; begin < end; begin += sizeof(vkf_tensor))
        visit(user, (vkf_tensor *)((char *)object + begin));
}

#define VISIT_RUN(object, type, begin, end)                                                                    \
    do {                                                                                                       \
        _Static_assert((offsetof(type, end) - offsetof(type, begin)) % sizeof(vkf_tensor) == 0, "whole ones"); \
        visit_run((object), offsetof(type, begin), offsetof(type, end), visit, user);                          \
    } while (0)

static void visit_layer(vkf__layer_weights *layer, void (*visit)(void *user, vkf_tensor *tensor), void *user)
{
    VISIT_RUN(&layer->self, vkf_attention_weights, q_weight, in_proj);
    VISIT_RUN(&layer->cross, vkf_attention_weights, q_weight, in_proj);
    VISIT_RUN(layer, vkf__layer_weights, q_norm, fused_qkv);
    VISIT_RUN(&layer->feed_forward, vkf_feed_forward_weights, weight1, reserved);
    for (size_t i = 0; i < sizeof layer->norm / sizeof layer->norm[0]; i++) {
        visit(user, &layer->norm[i].weight);
        visit(user, &layer->norm[i].bias);
    }
}

void vkf__weights_visit(const vkf_model_config *config, vkf__weights *weights,
                        void (*visit)(void *user, vkf_tensor *tensor), void *user)
{
    for (uint32_t i = 0; i < config->num_encoder_layers; i++)
        visit_layer(&weights->encoder[i], visit, user);
    for (uint32_t i = 0; i < config->num_decoder_layers; i++)
        visit_layer(&weights->decoder[i], visit, user);
    VISIT_RUN(weights, vkf__weights, source, buffers);
}

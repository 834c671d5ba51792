// Plans, creates, runs and destroys layers, and emits the blocks of each kind.
#include "layer/layer.h"

#include <inttypes.h>
#include <string.h>

#include "base/sized.h"
#include "kernel/memory_plan.h"
#include "layer/packed_weights.h"
#include "observe/probe.h"
#include "op/copy.h"
#include "op/layer_norm.h"

static uint64_t port_count(const vkf__port_desc *port)
{
    uint64_t count = port->rank > 0 ? 1 : 0;
    for (uint32_t i = 0; i < port->rank; i++)
        count *= port->shape[i];
    return count;
}

static vkf_status emit_ports(vkf__work *work, vkf_layer *layer)
{
    for (uint32_t i = 0; i < VKF_PORT_COUNT; i++) {
        const vkf__port_desc *port = &layer->desc.ports[i];
        if (port->external.rank > 0)
            layer->ports[i] = vkf__span_of(&port->external);
        else if (port->rank > 0)
            VKF_RETURN_IF_ERROR(vkf__work_pinned(work, port->dtype, port_count(port), &layer->ports[i]));
    }
    return VKF_OK;
}

// The residual stream lives in the output, because the input is the caller's and must not change. In a post-norm layer
// the first norm reads the input as the residual, if it can add that in the same pass. Otherwise the input is copied
// first.
static bool norm_takes_input(const vkf_layer *layer)
{
    return !layer->desc.transformer.norm_first && vkf__layer_norm_adds(layer->context);
}

static vkf_status emit_input(vkf__work *work, vkf_layer *layer, const vkf_layer_sizes *sizes)
{
    uint32_t d_model = layer->desc.transformer.d_model;
    const vkf__copy_args copy = {
        .label = "input",
        .x = layer->ports[VKF_PORT_QUERY],
        .out = layer->ports[VKF_PORT_OUTPUT],
        .outer = 1,
        .rows = sizes->batch * sizes->query_len,
        .cols = d_model,
        .x_row = d_model,
        .out_row = d_model,
        .alpha = 1.0f,
    };
    return vkf__emit_copy(work, &copy);
}

static vkf_status emit_transformer(vkf__work *work, vkf_layer *layer, const vkf_layer_sizes *sizes)
{
    const vkf__transformer_block *block = &layer->desc.transformer;
    vkf__transformer_io io = {
        .x = layer->ports[VKF_PORT_OUTPUT],
        .self = {.mask = layer->ports[VKF_PORT_MASK], .key_mask = layer->ports[VKF_PORT_KEY_MASK]},
        .cross = {.mask = layer->ports[VKF_PORT_MEMORY_MASK],
                  .key_mask = layer->ports[VKF_PORT_MEMORY_KEY_MASK],
                  .key = layer->ports[VKF_PORT_MEMORY]},
    };
    const vkf__attention_sizes self = vkf__uncached(sizes->batch, sizes->query_len, sizes->query_len);
    const vkf__attention_sizes cross = vkf__uncached(sizes->batch, sizes->query_len, sizes->key_len);
    if (norm_takes_input(layer))
        io.input = layer->ports[VKF_PORT_QUERY];
    else
        VKF_RETURN_IF_ERROR(emit_input(work, layer, sizes));
    if (layer->desc.kind == VKF_LAYER_ENCODER)
        return vkf__emit_encoder_layer(work, block, &io, &self);
    return vkf__emit_decoder_layer(work, block, &io, &self, &cross);
}

static vkf_status emit_attention(vkf__work *work, vkf_layer *layer, const vkf_layer_sizes *sizes)
{
    const vkf__span *ports = layer->ports;
    bool self = layer->desc.self_attention;
    const vkf__attention_io io = {
        .query = ports[VKF_PORT_QUERY],
        .key = ports[self ? VKF_PORT_QUERY : VKF_PORT_KEY],
        .value = ports[self ? VKF_PORT_QUERY : VKF_PORT_VALUE],
        .one_input = self,
        .out = ports[VKF_PORT_OUTPUT],
        .mask = ports[VKF_PORT_MASK],
        .key_mask = ports[VKF_PORT_KEY_MASK],
        .weights = ports[VKF_PORT_WEIGHTS],
        .weights_per_head = ports[VKF_PORT_WEIGHTS_PER_HEAD],
    };
    uint32_t keys = self ? sizes->query_len : sizes->key_len;
    const vkf__attention_sizes attention = vkf__uncached(sizes->batch, sizes->query_len, keys);
    return vkf__emit_attention_block(work, &layer->desc.attention, &io, &attention);
}

static vkf_status emit_feed_forward(vkf__work *work, vkf_layer *layer, const vkf_layer_sizes *sizes)
{
    const vkf__rows input = {.span = layer->ports[VKF_PORT_QUERY], .row = layer->desc.feed_forward.d_model};
    return vkf__emit_feed_forward(work, &layer->desc.feed_forward, &input, &layer->ports[VKF_PORT_OUTPUT], false,
                                  sizes->batch * sizes->query_len);
}

typedef struct emission {
    vkf_layer *layer;
    const vkf_layer_sizes *sizes;
} emission;

// A vkf__emit_fn into the work of any frame; ports have the same place in all of them.
static vkf_status emit(vkf__work *work, const void *args)
{
    const emission *e = args;
    vkf_layer *layer = e->layer;
    const vkf_layer_sizes *sizes = e->sizes;
    VKF_RETURN_IF_ERROR(emit_ports(work, layer));
    switch (layer->desc.kind) {
    case VKF_LAYER_ATTENTION:
        return emit_attention(work, layer, sizes);
    case VKF_LAYER_FEED_FORWARD:
        return emit_feed_forward(work, layer, sizes);
    case VKF_LAYER_ENCODER:
    case VKF_LAYER_DECODER:
        break;
    }
    return emit_transformer(work, layer, sizes);
}

// Chooses the weights to pack. From here on the layer's description names the packed ones, which are not there yet.
static void plan_weights(vkf_layer *layer, vkf__packed_weights *out_packed, vkf__span *out_sources)
{
    vkf__packed_weights_plan(layer->context, &layer->desc, out_packed);
    for (uint32_t i = 0; i < out_packed->count; i++)
        out_sources[i] = *out_packed->items[i].weight;
    vkf__packed_weights_place(out_packed, NULL);
}

static vkf_status make_weights(vkf_layer *layer, vkf__packed_weights *packed, const vkf__span *sources)
{
    vkf_context *context = layer->context;
    if (packed->total_bytes == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, packed->total_bytes, "packed weights",
                                           &layer->weights));
    VKF_RETURN_IF_ERROR(vkf__packed_weights_fill(context, packed, sources, layer->weights));
    vkf__packed_weights_place(packed, layer->weights);
    return VKF_OK;
}

static void init_work(const vkf_layer *layer, vkf__work *work)
{
    vkf__work_init(work, layer->context, layer->desc.name);
    work->counted = true;
}

vkf_status vkf__layer_plan(vkf_context *context, const vkf__layer_desc *desc, vkf_memory_plan *out_plan)
{
    vkf_status status = VKF_OK;
    vkf_layer layer = {.context = context, .desc = *desc};
    vkf__work work;
    vkf__packed_weights packed;
    vkf__span sources[VKF_MAX_PACKED_WEIGHTS];
    plan_weights(&layer, &packed, sources);
    init_work(&layer, &work);
    VKF_TRY(vkf__work_plan(&work, emit, &(emission){&layer, &desc->max_sizes}));
    vkf_memory_plan plan;
    vkf__memory_plan_init(&plan, context);
    const vkf__planned_buffer weights = {"packed weights", VKF_MEMORY_DEVICE, packed.total_bytes};
    const vkf__planned_buffer arena = {desc->name, VKF_MEMORY_DEVICE, work.plan.arena_bytes};
    const vkf__planned_buffer control = {desc->name, VKF_MEMORY_CONTROL, vkf__work_control_bytes(&work)};
    VKF_TRY(vkf__memory_plan_add(&plan, context, weights, &plan.weights_bytes));
    VKF_TRY(vkf__memory_plan_add(&plan, context, arena, &plan.activations_bytes));
    for (uint32_t i = 0; i < desc->frames; i++)
        VKF_TRY(vkf__memory_plan_add(&plan, context, control, &plan.control_bytes));
    *out_plan = plan;
fail:
    vkf__work_finish(&work);
    return status;
}

// Holds the buffers that runs of the layer read and write. The caller's weights are not among them where the layer has
// packed copies of its own.
static void hold_buffers(vkf_layer *layer)
{
    const vkf__layer_desc *desc = &layer->desc;
    vkf__held_buffers *held = &layer->held;
    vkf__hold_attention(held, &desc->attention);
    vkf__hold_feed_forward(held, &desc->feed_forward);
    vkf__hold_transformer(held, &desc->transformer);
    for (uint32_t i = 0; i < VKF_PORT_COUNT; i++)
        vkf__hold_buffer(held, desc->ports[i].external.buffer);
}

// Makes what a planned frame runs with, and records it.
static vkf_status make_frame(vkf_layer *layer, vkf__layer_frame *frame)
{
    const emission largest = {layer, &layer->desc.max_sizes};
    VKF_RETURN_IF_ERROR(vkf__work_build(&frame->work, layer->arena, emit, &largest));
    VKF_RETURN_IF_ERROR(vkf__submission_init(&frame->submission, &layer->context->device, layer->desc.name));
    VKF_RETURN_IF_ERROR(vkf__work_record_own(&frame->work, &frame->submission));
    layer->record_count++;
    return VKF_OK;
}

// The frames behind the first follow its plan.
static vkf_status make_frames(vkf_layer *layer)
{
    vkf__layer_frame *frames = layer->frames;
    VKF_RETURN_IF_ERROR(make_frame(layer, &frames[0]));
    for (uint32_t i = 1; i < layer->desc.frames; i++) {
        init_work(layer, &frames[i].work);
        VKF_RETURN_IF_ERROR(vkf__work_plan_like(&frames[i].work, &frames[0].work));
        VKF_RETURN_IF_ERROR(make_frame(layer, &frames[i]));
    }
    return VKF_OK;
}

vkf_status vkf__layer_create(vkf_context *context, const vkf__layer_desc *desc, vkf_layer **out_layer)
{
    vkf_status status = VKF_OK;
    vkf_layer *layer = NULL;
    vkf__packed_weights packed;
    vkf__span sources[VKF_MAX_PACKED_WEIGHTS];
    VKF_ALLOC(&context->host, layer, 1);
    vkf__context_hold(context, VKF_MADE_LAYER);
    layer->context = context;
    layer->desc = *desc;
    VKF_ALLOC(&context->host, layer->frames, desc->frames);
    VKF_TRY(vkf__packed_weights_measure(context, &layer->desc));
    plan_weights(layer, &packed, sources);
    vkf__work *work = &layer->frames[0].work;
    init_work(layer, work);
    VKF_TRY(vkf__work_plan_proven(work, emit, &(emission){layer, &desc->max_sizes}));
    VKF_TRY(make_weights(layer, &packed, sources));
    hold_buffers(layer);
    if (work->plan.arena_bytes > 0) {
        VKF_TRY(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, work->plan.arena_bytes, desc->name,
                                   &layer->arena));
        VKF_TRY(vkf__buffer_clear(layer->arena));
    }
    VKF_TRY(make_frames(layer));
    *out_layer = layer;
    return VKF_OK;
fail:
    vkf_layer_destroy(&layer);
    return status;
}

static void finish_frame(vkf__layer_frame *frame)
{
    const vkf_status ended = frame->under_way ? vkf__submission_wait(&frame->submission) : VKF_OK;
    (void)ended; // well or not, nothing runs any more
    vkf__work_finish(&frame->work);
    vkf__submission_finish(&frame->submission);
}

void vkf_layer_destroy(vkf_layer **layer)
{
    if (!layer || !*layer)
        return;
    vkf_layer *l = *layer;
    vkf_context *context = l->context;
    *layer = NULL;
    if (vkf__context_is_inherited(context))
        return;
    for (uint32_t i = 0; l->frames && i < l->desc.frames; i++)
        finish_frame(&l->frames[i]);
    vkf__drop_buffers(&l->held);
    vkf__buffer_destroy(&l->arena);
    vkf__buffer_destroy(&l->weights);
    vkf__free(&context->host, l->frames);
    vkf__free(&context->host, l);
    vkf__context_drop(context, VKF_MADE_LAYER);
}

bool vkf_layer_get_port(const vkf_layer *layer, vkf_port port, vkf_tensor *out_tensor)
{
    if (!layer || !out_tensor || (unsigned)port >= VKF_PORT_COUNT || !vkf__present(&layer->ports[port]))
        return false;
    const vkf__port_desc *desc = &layer->desc.ports[port];
    vkf_tensor tensor = {
        .buffer = layer->ports[port].buffer,
        .offset_bytes = layer->ports[port].offset_bytes,
        .dtype = desc->dtype,
        .rank = desc->rank,
    };
    memcpy(tensor.shape, desc->shape, sizeof tensor.shape);
    *out_tensor = tensor;
    return true;
}

static vkf_status check_transfer(vkf_layer *layer, vkf_port port, uint64_t size_bytes, vkf_tensor *out_tensor)
{
    const vkf__host *host = &layer->context->host;
    if (!vkf_layer_get_port(layer, port, out_tensor))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: the layer has no port %d", layer->desc.name, (int)port);
    uint64_t capacity = port_count(&layer->desc.ports[port]) * vkf_dtype_size(layer->desc.ports[port].dtype);
    if (size_bytes > capacity)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: %" PRIu64 " bytes through port %d, which holds %" PRIu64 " at most", layer->desc.name,
                         size_bytes, (int)port, capacity);
    return VKF_OK;
}

vkf_status vkf_layer_write(vkf_layer *layer, vkf_port port, const void *data, uint64_t size_bytes)
{
    vkf_tensor tensor;
    if (!layer)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(layer->context, __func__);
    if (status != VKF_OK)
        return status;
    status = check_transfer(layer, port, size_bytes, &tensor);
    if (status != VKF_OK)
        return status;
    return vkf_buffer_write(tensor.buffer, tensor.offset_bytes, data, size_bytes);
}

vkf_status vkf_layer_read(vkf_layer *layer, vkf_port port, void *out_data, uint64_t size_bytes)
{
    vkf_tensor tensor;
    if (!layer)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(layer->context, __func__);
    if (status != VKF_OK)
        return status;
    status = check_transfer(layer, port, size_bytes, &tensor);
    if (status != VKF_OK)
        return status;
    return vkf_buffer_read(tensor.buffer, tensor.offset_bytes, out_data, size_bytes);
}

static vkf_status check_sizes(const vkf_layer *layer, const vkf_layer_sizes *sizes)
{
    const vkf__host *host = &layer->context->host;
    const vkf_layer_sizes *max = &layer->desc.max_sizes;
    bool keys = max->key_len > 0;
    if (sizes->batch == 0 || sizes->query_len == 0 || (keys && sizes->key_len == 0))
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "%s: a size is 0", layer->desc.name);
    if (sizes->batch > max->batch || sizes->query_len > max->query_len || (keys && sizes->key_len > max->key_len))
        return vkf__fail(host, VKF_ERROR_TOO_LARGE, "%s: sizes %u, %u, %u beyond the layer's maximum of %u, %u, %u",
                         layer->desc.name, sizes->batch, sizes->query_len, sizes->key_len, max->batch, max->query_len,
                         max->key_len);
    return VKF_OK;
}

vkf_status vkf__layer_set_sizes(vkf_layer *layer, uint32_t frame, const vkf_layer_sizes *sizes)
{
    VKF_RETURN_IF_ERROR(check_sizes(layer, sizes));
    VKF_RETURN_IF_ERROR(vkf__layer_settle(layer, &layer->frames[frame]));
    return vkf__work_update(&layer->frames[frame].work, emit, &(emission){layer, sizes});
}

vkf_status vkf_layer_run(vkf_layer *layer, const vkf_layer_sizes *sizes)
{
    const vkf__submit_semaphores none = {0};
    if (!layer || !sizes)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(layer->context, __func__);
    if (status != VKF_OK)
        return status;
    if (layer->context->probe) {
        VKF_RETURN_IF_ERROR(vkf__layer_set_sizes(layer, 0, sizes));
        return vkf__probe_run(layer->context, &layer->frames[0].submission, layer->desc.name,
                              &(vkf__work *){&layer->frames[0].work}, 1);
    }
    VKF_RETURN_IF_ERROR(vkf__layer_submit(layer, 0, sizes, &none));
    return vkf__layer_settle(layer, &layer->frames[0]);
}

uint32_t vkf_layer_get_record_count(const vkf_layer *layer)
{
    return layer ? layer->record_count : 0;
}

vkf_status vkf_layer_get_timings_sized(vkf_layer *layer, uint32_t *inout_count, vkf_timing *out_timings,
                                       size_t timing_bytes)
{
    if (!layer || !inout_count)
        return vkf__null_argument(__func__);
    vkf_status status = vkf__context_enter(layer->context, "vkf_layer_get_timings");
    if (status != VKF_OK)
        return status;
    VKF_RETURN_IF_ERROR(vkf__check_sized(&layer->context->host, "vkf_layer_get_timings", timing_bytes));
    if (!layer->last_run)
        return vkf__fail(&layer->context->host, VKF_ERROR_INVALID_ARGUMENT, "%s: no run to time", layer->desc.name);
    vkf__work *work = &layer->last_run->work;
    uint32_t count = work->plan.node_count;
    for (uint32_t i = 0; out_timings && i < count && i < *inout_count; i++) {
        const vkf__node *node = &work->built.nodes[i];
        double ns = 0;
        VKF_RETURN_IF_ERROR(vkf__work_time(work, i, &ns));
        const vkf_timing timing = {.label = node->label, .kernel = node->kernel->name, .gpu_ns = ns};
        (void)vkf__give_sized(vkf__sized_at(out_timings, i, timing_bytes), timing_bytes, &timing, sizeof timing);
    }
    *inout_count = count;
    return status;
}

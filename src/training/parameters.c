// Chooses what trains, and lays out gradients and moments: where neighbours in a buffer of weights all train, so do
// their gradients lie.
#include "training/parameters.h"

#include <assert.h>
#include <stdio.h>

#include "base/edit_distance.h"
#include "base/name_match.h"
#include "base/size.h"
#include "kernel/memory_plan.h"
#include "model/family/weight_names.h"

#define NEAR_NAMES 3

// Bytes [begin, end) of buffer `buffer` of weights, and where those of their gradients begin.
typedef struct stretch {
    uint32_t buffer;
    uint64_t begin, end, to;
} stretch;

typedef struct layout {
    const vkf__weights *weights;
    bool *trains;           // per parameter
    uint32_t *order;        // of parameters, by where they lie
    stretch *stretches;     // in that order
    size_t count;           // of stretches
    uint64_t *buffer_bytes; // of gradients, beside each buffer of weights
    size_t buffer_count;
} layout;

static void layout_free(const vkf__host *host, layout *l)
{
    vkf__free(host, l->trains);
    vkf__free(host, l->order);
    vkf__free(host, l->stretches);
    vkf__free(host, l->buffer_bytes);
}

static vkf_status fail_pattern(const vkf__host *host, const vkf__weights *weights, const char *pattern)
{
    const char *near[NEAR_NAMES] = {NULL};
    size_t distances[NEAR_NAMES] = {0};
    char text[NEAR_NAMES * (VKF_WEIGHT_NAME_MAX + 2)] = "";
    size_t used = 0;
    for (size_t i = 0; i < weights->trainable_count; i++) {
        const char *name = weights->trainable[i].slot.name;
        const size_t distance = vkf__edit_distance(pattern, name);
        size_t at = NEAR_NAMES;
        while (at > 0 && (!near[at - 1] || distance < distances[at - 1]))
            at--;
        for (size_t j = NEAR_NAMES; at < NEAR_NAMES && j-- > at + 1;) {
            near[j] = near[j - 1];
            distances[j] = distances[j - 1];
        }
        if (at < NEAR_NAMES) {
            near[at] = name;
            distances[at] = distance;
        }
    }
    for (size_t i = 0; i < NEAR_NAMES && near[i]; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? ", " : "", near[i]);
    return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT, "no parameter of the model is called '%.100s'; near that are %s",
                     pattern, text);
}

static vkf_status choose(const vkf__host *host, const char *const *patterns, size_t pattern_count, layout *l)
{
    // What BART's file holds as a row is a buffer of transformers' class, no parameter.
    for (size_t i = 0; !patterns && i < l->weights->trainable_count; i++)
        l->trains[i] = !l->weights->trainable[i].slot.as_row;
    for (size_t p = 0; patterns && p < pattern_count; p++) {
        bool any = false;
        for (size_t i = 0; i < l->weights->trainable_count; i++) {
            const bool matches = vkf__name_matches(patterns[p], l->weights->trainable[i].slot.name);
            any = any || matches;
            l->trains[i] = l->trains[i] || matches;
        }
        if (!any)
            return fail_pattern(host, l->weights, patterns[p]);
    }
    return VKF_OK;
}

static bool is_before(const vkf__trainable *a, const vkf__trainable *b)
{
    return a->buffer != b->buffer ? a->buffer < b->buffer : a->tensor.offset_bytes < b->tensor.offset_bytes;
}

// By insertion, as the model lists its parameters almost in this order.
static void sort(layout *l)
{
    const vkf__trainable *all = l->weights->trainable;
    for (uint32_t i = 0; i < l->weights->trainable_count; i++) {
        uint32_t at = i;
        for (; at > 0 && is_before(&all[i], &all[l->order[at - 1]]); at--)
            l->order[at] = l->order[at - 1];
        l->order[at] = i;
    }
}

// Puts a parameter that trains behind the one before it, if that trains, too, and both can be bound at once.
static void add(const vkf_context *context, uint32_t moments, bool follows, const vkf__trainable *parameter, layout *l)
{
    const uint64_t most = context->device.plan.caps.max_storage_buffer_range / (moments > 0 ? moments : 1);
    stretch *last = l->count > 0 ? &l->stretches[l->count - 1] : NULL;
    const uint64_t begin = parameter->tensor.offset_bytes, end = begin + vkf__span_of(&parameter->tensor).size_bytes;
    if (!follows || !last || last->buffer != parameter->buffer || end - last->begin > most) {
        uint64_t *used = &l->buffer_bytes[parameter->buffer];
        *used = vkf__align_u64(*used, context->device.plan.buffer_alignment);
        last = &l->stretches[l->count++];
        *last = (stretch){parameter->buffer, begin, begin, *used};
    }
    l->buffer_bytes[parameter->buffer] += end - last->end;
    last->end = end;
}

static vkf_status lay_out(const vkf_model *model, const char *const *patterns, size_t pattern_count, uint32_t moments,
                          layout *out)
{
    const vkf__host *host = &model->context->host;
    const size_t count = model->weights.trainable_count;
    out->weights = &model->weights;
    if (!model->weights.trainable)
        return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                         "the model was not loaded to be trained: set vkf_model_desc.trainable");
    VKF_ALLOC_OR_RETURN(host, out->trains, count);
    VKF_ALLOC_OR_RETURN(host, out->order, count);
    VKF_ALLOC_OR_RETURN(host, out->stretches, count);
    VKF_RETURN_IF_ERROR(choose(host, patterns, pattern_count, out));
    sort(out);
    out->buffer_count = count > 0 ? model->weights.trainable[out->order[count - 1]].buffer + 1 : 0;
    VKF_ALLOC_OR_RETURN(host, out->buffer_bytes, out->buffer_count);
    for (size_t i = 0; i < count; i++)
        if (out->trains[out->order[i]])
            add(model->context, moments, i > 0 && out->trains[out->order[i - 1]],
                &model->weights.trainable[out->order[i]], out);
    return VKF_OK;
}

vkf_status vkf__parameters_plan(const vkf_model *model, const char *const *patterns, size_t pattern_count,
                                uint32_t moments, vkf_memory_plan *plan)
{
    vkf_status status = VKF_OK;
    const vkf_context *context = model->context;
    layout l = {0};
    VKF_TRY(lay_out(model, patterns, pattern_count, moments, &l));
    for (size_t i = 0; i < l.buffer_count; i++) {
        const vkf__planned_buffer gradients = {"gradients", VKF_MEMORY_DEVICE, l.buffer_bytes[i]};
        const vkf__planned_buffer kept = {"moments", VKF_MEMORY_DEVICE, moments * l.buffer_bytes[i]};
        VKF_TRY(vkf__memory_plan_add(plan, context, gradients, &plan->weights_bytes));
        VKF_TRY(vkf__memory_plan_add(plan, context, kept, &plan->weights_bytes));
    }
fail:
    layout_free(&context->host, &l);
    return status;
}

// ---- buffers and views

static vkf_status make_buffer(vkf_context *context, uint64_t bytes, const char *name, vkf_buffer **out_buffer)
{
    if (bytes == 0)
        return VKF_OK;
    VKF_RETURN_IF_ERROR(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, bytes, name, out_buffer));
    return vkf__buffer_clear(*out_buffer);
}

static vkf_status place_stand_ins(vkf_context *context, const layout *l, vkf__parameters *p)
{
    VKF_ALLOC_OR_RETURN(&context->host, p->stand_ins, 2 * l->buffer_count + VKF_ADDED_BUFFERS);
    for (size_t i = 0; i < l->buffer_count; i++) {
        p->gradients.buffers[i] = &p->stand_ins[2 * i];
        p->moment_buffers[i] = &p->stand_ins[2 * i + 1];
    }
    return VKF_OK;
}

static vkf_status make_buffers(vkf_context *context, const layout *l, bool shape, vkf__parameters *p)
{
    // One more is for what vkf__parameters_add() adds.
    VKF_ALLOC_OR_RETURN(&context->host, p->gradients.buffers, l->buffer_count + 1);
    VKF_ALLOC_OR_RETURN(&context->host, p->moment_buffers, l->buffer_count + 1);
    p->gradients.buffer_count = l->buffer_count;
    if (shape)
        return place_stand_ins(context, l, p);
    for (size_t i = 0; i < l->buffer_count; i++) {
        VKF_RETURN_IF_ERROR(make_buffer(context, l->buffer_bytes[i], "gradients", &p->gradients.buffers[i]));
        VKF_RETURN_IF_ERROR(make_buffer(context, p->moments * l->buffer_bytes[i], "moments", &p->moment_buffers[i]));
    }
    return VKF_OK;
}

static vkf__span floats_at(vkf_buffer *buffer, uint64_t offset_bytes, uint64_t size_bytes)
{
    return (vkf__span){.buffer = size_bytes > 0 ? buffer : NULL,
                       .offset_bytes = offset_bytes,
                       .size_bytes = size_bytes,
                       .dtype = VKF_DTYPE_F32};
}

static vkf_status make_ranges(const vkf_context *context, const layout *l, vkf__parameters *p)
{
    VKF_ALLOC_OR_RETURN(&context->host, p->ranges, l->count);
    for (size_t i = 0; i < l->count; i++) {
        const stretch *s = &l->stretches[i];
        const uint64_t bytes = s->end - s->begin;
        p->ranges[i] = (vkf__parameter_range){
            .value = floats_at(p->model->weights.buffers[s->buffer], s->begin, bytes),
            .gradient = floats_at(p->gradients.buffers[s->buffer], s->to, bytes),
            .moments = floats_at(p->moment_buffers[s->buffer], p->moments * s->to, p->moments * bytes),
            .count = bytes / sizeof(float),
        };
    }
    p->range_count = l->count;
    return VKF_OK;
}

static const vkf__parameter_range *range_of(const vkf__parameters *p, const vkf_tensor *value)
{
    for (size_t i = 0; i < p->range_count; i++) {
        const vkf__span *all = &p->ranges[i].value;
        if (all->buffer == value->buffer && value->offset_bytes >= all->offset_bytes &&
            value->offset_bytes - all->offset_bytes < all->size_bytes)
            return &p->ranges[i];
    }
    return NULL;
}

// Makes of a view of weights that of their gradients.
static void turn_to_gradient(void *user, vkf_tensor *tensor)
{
    const vkf__parameter_range *range = tensor->rank > 0 ? range_of(user, tensor) : NULL;
    if (range) {
        tensor->buffer = range->gradient.buffer;
        tensor->offset_bytes += range->gradient.offset_bytes - range->value.offset_bytes;
    } else {
        *tensor = (vkf_tensor){0};
    }
}

static vkf_status copy_layers(const vkf__host *host, const vkf__layer_weights *from, uint32_t count,
                              vkf__layer_weights **out_layers)
{
    *out_layers = NULL;
    if (count == 0)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(host, *out_layers, count);
    memcpy(*out_layers, from, count * sizeof *from);
    return VKF_OK;
}

static vkf_status mirror(const vkf__host *host, vkf__parameters *p)
{
    const vkf_model_config *config = &p->model->config;
    vkf__weights mirrored = p->model->weights;
    mirrored.buffers = p->gradients.buffers;
    mirrored.buffer_count = p->gradients.buffer_count;
    mirrored.trainable = NULL;
    mirrored.trainable_count = 0;
    mirrored.encoder = mirrored.decoder = NULL;
    p->gradients = mirrored;
    VKF_RETURN_IF_ERROR(
        copy_layers(host, p->model->weights.encoder, config->num_encoder_layers, &p->gradients.encoder));
    VKF_RETURN_IF_ERROR(
        copy_layers(host, p->model->weights.decoder, config->num_decoder_layers, &p->gradients.decoder));
    vkf__weights_visit(config, &p->gradients, turn_to_gradient, p);
    return VKF_OK;
}

static vkf_status make_items(const vkf__host *host, vkf__parameters *p)
{
    const vkf__weights *weights = &p->model->weights;
    VKF_ALLOC_OR_RETURN(host, p->items, weights->trainable_count);
    p->count = weights->trainable_count;
    for (size_t i = 0; i < p->count; i++) {
        vkf__parameter *item = &p->items[i];
        item->name = weights->trainable[i].slot.name;
        item->value = weights->trainable[i].tensor;
        const vkf__parameter_range *range = range_of(p, &item->value);
        if (!range)
            continue;
        const uint64_t at = item->value.offset_bytes - range->value.offset_bytes;
        const uint64_t bytes = vkf__span_of(&item->value).size_bytes;
        item->gradient = floats_at(range->gradient.buffer, range->gradient.offset_bytes + at, bytes);
        item->moments =
            floats_at(range->moments.buffer, range->moments.offset_bytes + p->moments * at, p->moments * bytes);
    }
    return VKF_OK;
}

static vkf_status make(vkf_model *model, const char *const *patterns, size_t pattern_count, uint32_t moments,
                       bool shape, vkf__parameters *out_parameters)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &model->context->host;
    layout l = {0};
    vkf__parameters p = {.moments = moments};
    assert(moments <= 2);
    VKF_TRY(lay_out(model, patterns, pattern_count, moments, &l));
    vkf__model_hold(model);
    p.model = model;
    VKF_TRY(make_buffers(model->context, &l, shape, &p));
    VKF_TRY(make_ranges(model->context, &l, &p));
    VKF_TRY(mirror(host, &p));
    VKF_TRY(make_items(host, &p));
    *out_parameters = p;
    p = (vkf__parameters){0};
fail:
    layout_free(host, &l);
    vkf__parameters_free(&p);
    return status;
}

vkf_status vkf__parameters_create(vkf_model *model, const char *const *patterns, size_t pattern_count, uint32_t moments,
                                  vkf__parameters *out_parameters)
{
    return make(model, patterns, pattern_count, moments, false, out_parameters);
}

vkf_status vkf__parameters_shape(vkf_model *model, const char *const *patterns, size_t pattern_count, uint32_t moments,
                                 vkf__parameters *out_parameters)
{
    return make(model, patterns, pattern_count, moments, true, out_parameters);
}

void vkf__parameters_free(vkf__parameters *p)
{
    if (!p->model)
        return;
    vkf_context *context = p->model->context;
    for (size_t i = 0; !p->stand_ins && p->moment_buffers && i < p->gradients.buffer_count; i++)
        vkf__buffer_destroy(&p->moment_buffers[i]);
    if (p->stand_ins)
        p->gradients.buffer_count = 0;
    else
        vkf__buffer_destroy(&p->added);
    vkf__free(&context->host, p->stand_ins);
    vkf__free(&context->host, p->moment_buffers);
    vkf__free(&context->host, p->ranges);
    vkf__free(&context->host, p->items);
    vkf__weights_free(context, &p->gradients);
    vkf__model_drop(p->model);
    *p = (vkf__parameters){0};
}

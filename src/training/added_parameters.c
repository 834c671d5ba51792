// Puts matrices that are not the model's beside its parameters: in buffers of their own, and in as few ranges as a
// device binds.
#include "base/size.h"
#include "kernel/memory_plan.h"
#include "training/parameters.h"

static vkf__span floats_at(vkf_buffer *buffer, uint64_t floats, uint64_t count)
{
    return (vkf__span){.buffer = count > 0 ? buffer : NULL,
                       .offset_bytes = floats * sizeof(float),
                       .size_bytes = count * sizeof(float),
                       .dtype = VKF_DTYPE_F32};
}

static vkf_status make_buffers(vkf__parameters *p, bool shape)
{
    vkf_context *context = p->model->context;
    const size_t at = p->gradients.buffer_count;
    const uint64_t bytes[VKF_ADDED_BUFFERS] = {p->added_bytes, p->added_bytes, p->moments * p->added_bytes};
    static const char *const names[VKF_ADDED_BUFFERS] = {"adapter", "gradients", "moments"};
    vkf_buffer **const to[VKF_ADDED_BUFFERS] = {&p->added, &p->gradients.buffers[at], &p->moment_buffers[at]};
    p->gradients.buffer_count++;
    for (size_t i = 0; i < VKF_ADDED_BUFFERS; i++) {
        if (shape)
            *to[i] = &p->stand_ins[2 * at + i];
        if (shape || bytes[i] == 0)
            continue;
        VKF_RETURN_IF_ERROR(vkf__buffer_create(&context->transfer, VKF_MEMORY_DEVICE, bytes[i], names[i], to[i]));
        VKF_RETURN_IF_ERROR(vkf__buffer_clear(*to[i]));
    }
    return VKF_OK;
}

// Elements from one matrix's first to the next one's.
static uint64_t room_of(const vkf__parameters *p, const vkf__added_parameter *added)
{
    return vkf__align_u64((uint64_t)added->rows * added->cols * sizeof(float),
                          p->model->context->device.plan.buffer_alignment) /
           sizeof(float);
}

// A matrix that begins at element `at`: an item, and a range, or an end of the one before.
static void place(vkf__parameters *p, const vkf__added_parameter *added, uint64_t at, bool first)
{
    const uint64_t most = p->model->context->device.plan.caps.max_storage_buffer_range / sizeof(float) /
                          (p->moments > 0 ? p->moments : 1);
    const size_t buffer = p->gradients.buffer_count - 1;
    const uint64_t count = (uint64_t)added->rows * added->cols;
    vkf_buffer *gradients = p->gradients.buffers[buffer], *moments = p->moment_buffers[buffer];
    p->items[p->count++] = (vkf__parameter){
        .name = added->name,
        .value = {.buffer = p->added,
                  .offset_bytes = at * sizeof(float),
                  .dtype = VKF_DTYPE_F32,
                  .rank = 2,
                  .shape = {added->rows, added->cols}},
        .gradient = floats_at(gradients, at, count),
        .moments = floats_at(moments, p->moments * at, p->moments * count),
    };
    vkf__parameter_range *range = first ? NULL : &p->ranges[p->range_count - 1];
    uint64_t begin = range ? range->value.offset_bytes / sizeof(float) : at;
    if (!range || at + count - begin > most) {
        range = &p->ranges[p->range_count++];
        begin = at;
    }
    const uint64_t all = at + count - begin;
    *range = (vkf__parameter_range){floats_at(p->added, begin, all), floats_at(gradients, begin, all),
                                    floats_at(moments, p->moments * begin, p->moments * all), all};
}

vkf_status vkf__parameters_add(vkf__parameters *p, const vkf__added_parameter *added, size_t count, bool shape)
{
    const vkf__host *host = &p->model->context->host;
    uint64_t at = 0;
    size_t items = p->count, ranges = p->range_count; // there is room for
    VKF_RETURN_IF_ERROR(vkf__grow(host, (void **)&p->items, sizeof *p->items, p->count, &items, p->count + count));
    VKF_RETURN_IF_ERROR(
        vkf__grow(host, (void **)&p->ranges, sizeof *p->ranges, p->range_count, &ranges, p->range_count + count));
    for (size_t i = 0; i < count; i++)
        p->added_bytes += room_of(p, &added[i]) * sizeof(float);
    VKF_RETURN_IF_ERROR(make_buffers(p, shape));
    for (size_t i = 0; i < count; i++) {
        place(p, &added[i], at, i == 0);
        at += room_of(p, &added[i]);
    }
    return VKF_OK;
}

vkf_status vkf__parameters_plan_added(const vkf__parameters *p, vkf_memory_plan *plan)
{
    const vkf__planned_buffer buffers[VKF_ADDED_BUFFERS] = {
        {"adapter", VKF_MEMORY_DEVICE, p->added_bytes},
        {"gradients", VKF_MEMORY_DEVICE, p->added_bytes},
        {"moments", VKF_MEMORY_DEVICE, p->moments * p->added_bytes},
    };
    for (size_t i = 0; i < VKF_ADDED_BUFFERS; i++)
        VKF_RETURN_IF_ERROR(vkf__memory_plan_add(plan, p->model->context, buffers[i], &plan->weights_bytes));
    return VKF_OK;
}

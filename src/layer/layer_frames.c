// The frames of a layer: runs that may be under way at the same time, each with sizes of its own.
#include <assert.h>

#include "base/clock.h"
#include "layer/layer.h"

vkf_status vkf__layer_check_frame(const vkf_layer *layer, uint32_t frame)
{
    if (frame < layer->desc.frames)
        return VKF_OK;
    return vkf__fail(&layer->context->host, VKF_ERROR_INVALID_ARGUMENT,
                     "%s: frame %u, but frames_in_flight is %u: create the layer with more", layer->desc.name, frame,
                     layer->desc.frames);
}

vkf_status vkf__layer_settle(vkf_layer *layer, vkf__layer_frame *frame)
{
    if (!frame->under_way)
        return VKF_OK;
    frame->under_way = false; // also where waiting fails: then nothing is under way any more
    VKF_RETURN_IF_ERROR(vkf__submission_wait(&frame->submission));
    frame->times.ended_ns = vkf__now_ns();
    layer->last_run = frame;
    return vkf__profile_run(layer->context, layer->desc.name, &(vkf__work *){&frame->work}, 1, &frame->times);
}

vkf_status vkf__layer_submit(vkf_layer *layer, uint32_t index, const vkf_layer_sizes *sizes,
                             const vkf__submit_semaphores *semaphores)
{
    vkf__layer_frame *frame = &layer->frames[index];
    assert(index < layer->desc.frames);
    VKF_RETURN_IF_ERROR(vkf__layer_settle(layer, frame));
    frame->times = (vkf__run_times){.begin_ns = vkf__now_ns()};
    VKF_RETURN_IF_ERROR(vkf__layer_set_sizes(layer, index, sizes));
    frame->times.updated_ns = vkf__now_ns();
    VKF_RETURN_IF_ERROR(
        vkf__submission_submit_with(&frame->submission, &frame->work.built.command_buffer, 1, semaphores));
    frame->times.submitted_ns = frame->submission.submitted_ns;
    frame->under_way = true;
    return VKF_OK;
}

vkf_status vkf_layer_set_sizes(vkf_layer *layer, uint32_t frame, const vkf_layer_sizes *sizes)
{
    if (!layer || !sizes)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(layer->context, __func__));
    VKF_RETURN_IF_ERROR(vkf__layer_check_frame(layer, frame));
    return vkf__layer_set_sizes(layer, frame, sizes);
}

vkf_status vkf_layer_wait(vkf_layer *layer, uint32_t frame)
{
    if (!layer)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(layer->context, __func__));
    VKF_RETURN_IF_ERROR(vkf__layer_check_frame(layer, frame));
    return vkf__layer_settle(layer, &layer->frames[frame]);
}

vkf_status vkf_layer_ended(vkf_layer *layer, uint32_t frame, bool *out_ended)
{
    bool ended = true;
    if (!layer || !out_ended)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__context_enter(layer->context, __func__));
    VKF_RETURN_IF_ERROR(vkf__layer_check_frame(layer, frame));
    if (layer->frames[frame].under_way)
        VKF_RETURN_IF_ERROR(vkf__submission_ended(&layer->frames[frame].submission, &ended));
    *out_ended = ended;
    return VKF_OK;
}

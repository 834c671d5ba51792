// Passes what a run works on from one part of a model to the next.
#include "model/session/session_part.h"

static const vkf__span *passed(const vkf_session *session, bool target)
{
    return target ? &session->spans.hidden : &session->spans.memory;
}

static uint64_t passed_bytes(const vkf_session *session, bool target, const vkf__session_sizes *sizes)
{
    const uint64_t positions = target ? sizes->target_len : sizes->source_len;
    return vkf__session_rows(sizes) * positions * session->model->config.d_model *
           vkf_dtype_size(passed(session, target)->dtype);
}

vkf_status vkf__part_take(vkf_session *session, bool target, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    const vkf__layer_part *part = &session->model->part;
    const vkf__span *span = passed(session, target);
    const uint64_t bytes = passed_bytes(session, target, sizes);
    uint8_t *values = NULL;
    if (part->first <= (target ? part->encoder : 0))
        return VKF_OK;
    VKF_ALLOC(&session->context->host, values, (size_t)bytes);
    VKF_TRY(part->link.take(part->link.user, values, (size_t)bytes) ? VKF_OK : VKF_ERROR_CANCELLED);
    VKF_TRY(vkf_buffer_write(span->buffer, span->offset_bytes, values, bytes));
fail:
    vkf__free(&session->context->host, values);
    return status;
}

vkf_status vkf__part_give(vkf_session *session, bool target, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    const vkf__layer_part *part = &session->model->part;
    const vkf__span *span = passed(session, target);
    const uint64_t bytes = passed_bytes(session, target, sizes);
    const uint32_t end = part->first + part->count;
    uint8_t *values = NULL;
    if (end == part->total || (target && end <= part->encoder))
        return VKF_OK;
    VKF_ALLOC(&session->context->host, values, (size_t)bytes);
    VKF_TRY(vkf_buffer_read(span->buffer, span->offset_bytes, values, bytes));
    VKF_TRY(part->link.give(part->link.user, values, (size_t)bytes) ? VKF_OK : VKF_ERROR_CANCELLED);
fail:
    vkf__free(&session->context->host, values);
    return status;
}

vkf_status vkf__part_share(const vkf_session *session, void *bytes, size_t size_bytes)
{
    const vkf__layer_part *part = &session->model->part;
    if (part->count == 0)
        return VKF_OK;
    return part->link.share(part->link.user, bytes, size_bytes) ? VKF_OK : VKF_ERROR_CANCELLED;
}

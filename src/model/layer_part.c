// Passes the hidden states of a run from one part of a model to the next.
#include "model/session.h"

static uint64_t hidden_bytes(const vkf_session *session, const vkf__session_sizes *sizes)
{
    return (uint64_t)vkf__session_rows(sizes) * sizes->target_len * session->model->config.d_model *
           vkf_dtype_size(session->spans.hidden.dtype);
}

vkf_status vkf__part_take(vkf_session *session, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    const vkf__layer_part *part = &session->model->part;
    const vkf__span *hidden = &session->spans.hidden;
    const uint64_t bytes = hidden_bytes(session, sizes);
    uint8_t *values = NULL;
    if (vkf__part_embeds(part))
        return VKF_OK;
    VKF_ALLOC(&session->context->host, values, (size_t)bytes);
    VKF_TRY(part->link.take(part->link.user, values, (size_t)bytes) ? VKF_OK : VKF_ERROR_CANCELLED);
    VKF_TRY(vkf_buffer_write(hidden->buffer, hidden->offset_bytes, values, bytes));
fail:
    vkf__free(&session->context->host, values);
    return status;
}

vkf_status vkf__part_give(vkf_session *session, const vkf__session_sizes *sizes)
{
    vkf_status status = VKF_OK;
    const vkf__layer_part *part = &session->model->part;
    const vkf__span *hidden = &session->spans.hidden;
    const uint64_t bytes = hidden_bytes(session, sizes);
    uint8_t *values = NULL;
    if (vkf__part_chooses(part))
        return VKF_OK;
    VKF_ALLOC(&session->context->host, values, (size_t)bytes);
    VKF_TRY(vkf_buffer_read(hidden->buffer, hidden->offset_bytes, values, bytes));
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

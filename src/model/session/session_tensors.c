// Where a session's inputs and results lie on the device, for programs that use Vulkan themselves.
#include "model/session/session.h"
#include "model/session/session_layout.h"
#include "op/operand.h"

typedef struct shaped {
    vkf__span span;
    uint32_t rank;
    uint32_t shape[3];
} shaped;

static shaped logits_of(const vkf_session *session)
{
    const vkf_model_config *config = &session->model->config;
    const vkf_session_desc *desc = &session->desc;
    const vkf__span logits = session->spans.logits;
    if (vkf__facts_of(config)->prompts)
        return (shaped){logits, 2, {desc->max_batch, config->target_vocab}};
    if (!vkf__session_has_head(session))
        return (shaped){0};
    if (config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION)
        return (shaped){logits, 2, {desc->max_batch, config->head_outputs}};
    return (shaped){logits, 3, {desc->max_batch, desc->max_source_len, config->head_outputs}};
}

static shaped find(const vkf_session *session, vkf_session_data data)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__session_spans *s = &session->spans;
    const uint32_t batch = session->desc.max_batch, source = session->desc.max_source_len;
    switch (data) {
    case VKF_SESSION_SOURCE_IDS:
        return (shaped){s->source_ids, 2, {batch, source}};
    case VKF_SESSION_MEMORY:
        return (shaped){s->memory, 3, {batch, source, config->d_model}};
    case VKF_SESSION_EMBEDDINGS:
        return (shaped){s->embeddings, 2, {batch, config->embedding_dim}};
    case VKF_SESSION_LOGITS:
        return logits_of(session);
    case VKF_SESSION_DATA_COUNT:
        break;
    }
    return (shaped){0};
}

bool vkf_session_get_tensor(const vkf_session *session, vkf_session_data data, vkf_tensor *out_tensor)
{
    if (!session || !out_tensor || (unsigned)data >= VKF_SESSION_DATA_COUNT)
        return false;
    const shaped found = find(session, data);
    if (!vkf__present(&found.span))
        return false;
    *out_tensor = (vkf_tensor){
        .buffer = found.span.buffer,
        .offset_bytes = found.span.offset_bytes,
        .dtype = found.span.dtype,
        .rank = found.rank,
    };
    for (uint32_t i = 0; i < found.rank; i++)
        out_tensor->shape[i] = found.shape[i];
    return true;
}

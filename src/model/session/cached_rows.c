// Keeps account of the cache's rows.
#include "model/session/cached_rows.h"

#include <string.h>

vkf_status vkf__rows_make(vkf_session *session)
{
    const vkf__host *host = &session->context->host;
    const vkf_session_desc *desc = &session->desc;
    if (!vkf__facts_of(&session->model->config)->prompts)
        return VKF_OK;
    VKF_ALLOC_OR_RETURN(host, session->rows, (size_t)desc->max_batch * desc->max_beams);
    VKF_ALLOC_OR_RETURN(host, session->row_ids, (size_t)desc->max_batch * desc->max_target_len);
    return VKF_OK;
}

void vkf__rows_free(vkf_session *session)
{
    vkf__free(&session->context->host, session->rows);
    vkf__free(&session->context->host, session->row_ids);
}

int32_t *vkf__row_ids(const vkf_session *session, uint32_t row)
{
    return session->row_ids + (size_t)row * session->desc.max_target_len;
}

void vkf__rows_forget(vkf_session *session)
{
    for (uint32_t row = 0; session->rows && row < session->desc.max_batch; row++)
        session->rows[row].count = 0;
}

uint32_t vkf__row_common(const vkf_session *session, uint32_t row, const int32_t *tokens, uint32_t count)
{
    const int32_t *ids = vkf__row_ids(session, row);
    const uint32_t most = session->rows[row].count < count ? session->rows[row].count : count;
    uint32_t common = 0;
    while (common < most && ids[common] == tokens[common])
        common++;
    return common;
}

void vkf__row_add(vkf_session *session, uint32_t row, const int32_t *tokens, uint32_t count)
{
    if (!session->rows)
        return;
    memcpy(vkf__row_ids(session, row) + session->rows[row].count, tokens, count * sizeof *tokens);
    session->rows[row].count += count;
}

// Reads the tokens that the device chose, and words the error of numbers that are not finite.
#include "model/session/session_results.h"

#include <stdarg.h>
#include <stdio.h>

vkf_status vkf__session_check_chosen(const vkf_session *session, int32_t token)
{
    uint32_t vocab = session->model->config.target_vocab;
    if (token >= 0 && (uint32_t)token < vocab)
        return VKF_OK;
    return vkf__fail(&session->context->host, VKF_ERROR_VULKAN,
                     "the device chose token id %d, which is outside the vocabulary of %u", token, vocab);
}

vkf_status vkf__not_finite(const vkf_session *session, const char *format, ...)
{
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return vkf__fail(&session->context->host, VKF_ERROR_NOT_FINITE,
                     "%s: NaN or infinity. The layer and the operation in which that begins are found by a probe "
                     "(vkf_context_set_probe; --check-numbers of vkformer run and profile)%s",
                     what, session->model->dtype == VKF_DTYPE_F16 ? "; activations in f32 reach further than f16" : "");
}

vkf_status vkf__read_chosen(vkf_session *session, uint64_t at, uint32_t row, uint32_t positions, int32_t *out_token)
{
    int32_t token = 0;
    const vkf__span *ids = &session->spans.target_ids;
    const uint64_t offset = ids->offset_bytes + at * sizeof token;
    VKF_RETURN_IF_ERROR(vkf_buffer_read(ids->buffer, offset, &token, sizeof token));
    if (token < 0 && session->desc.fully_masked != VKF_FULLY_MASKED_NAN)
        return vkf__not_finite(session, "sequence %u of the batch: the logits behind %u positions", row, positions);
    if (token < 0) {
        token = 0;
        VKF_RETURN_IF_ERROR(vkf_buffer_write(ids->buffer, offset, &token, sizeof token));
    }
    VKF_RETURN_IF_ERROR(vkf__session_check_chosen(session, token));
    *out_token = token;
    return VKF_OK;
}

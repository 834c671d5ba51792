// Finds NaN and infinity in results that are on the host, and words the error.
#include "model/finite.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "model/session_run.h"

#define BLOCK 4096u // elements examined before the first test

// Takes the largest magnitude as an integer: these order as the floats do, with NaN above infinity, and the compiler
// can vectorise the loop. Elements may begin at any address.
static bool words_finite(const uint8_t *bytes, size_t count)
{
    uint32_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        bits &= 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    return largest < 0x7f800000u;
}

static bool halves_finite(const uint8_t *bytes, size_t count, uint16_t infinity)
{
    uint16_t largest = 0;
    for (size_t i = 0; i < count; i++) {
        uint16_t bits;
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        bits &= 0x7fffu;
        largest = bits > largest ? bits : largest;
    }
    return largest < infinity;
}

static bool elements_finite(vkf_dtype dtype, const void *values, uint64_t first, size_t count)
{
    const uint8_t *bytes = (const uint8_t *)values + first * vkf_dtype_size(dtype);
    if (dtype == VKF_DTYPE_F32)
        return words_finite(bytes, count);
    return halves_finite(bytes, count, dtype == VKF_DTYPE_F16 ? 0x7c00 : 0x7f80);
}

bool vkf__all_finite(const float *values, size_t count)
{
    return words_finite((const uint8_t *)values, count);
}

uint64_t vkf__first_not_finite(vkf_dtype dtype, const void *values, uint64_t count)
{
    uint64_t first = 0;
    while (first < count) {
        size_t part = (size_t)(count - first < BLOCK ? count - first : BLOCK);
        if (!elements_finite(dtype, values, first, part))
            break;
        first += part;
    }
    while (first < count && elements_finite(dtype, values, first, 1))
        first++;
    return first;
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

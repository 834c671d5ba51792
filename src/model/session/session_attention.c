// The attention weights that a session keeps. On the device each layer has room for those of one run. The host gathers
// the rows of all runs, because a sequence may come in parts and steps.
#include "model/session/session_attention.h"

#include <string.h>

#include "base/size.h"

void vkf__kept_attention_init(vkf_session *session)
{
    const vkf_model_config *config = &session->model->config;
    const vkf_session_desc *desc = &session->desc;
    uint32_t decoder_heads = vkf__stack_of(config, true).heads;
    const vkf__kept_attention kinds[VKF_KEPT_COUNT] = {
        [VKF_KEPT_CROSS] = {.layers = config->num_decoder_layers,
                            .heads = decoder_heads,
                            .run_queries = desc->max_target_len,
                            .queries = desc->max_target_len,
                            .keys = desc->max_source_len},
        [VKF_KEPT_ENCODER] = {.layers = config->num_encoder_layers,
                              .heads = vkf__stack_of(config, false).heads,
                              .run_queries = desc->max_source_len,
                              .queries = desc->max_source_len,
                              .keys = desc->max_source_len},
        [VKF_KEPT_DECODER] = {.layers = config->num_decoder_layers,
                              .heads = decoder_heads,
                              .run_queries = desc->max_prompt_len,
                              .queries = desc->max_target_len,
                              .keys = desc->max_target_len},
    };
    for (int i = 0; i < VKF_KEPT_COUNT; i++)
        if (desc->attention_weights >> i & 1)
            session->kept[i] = kinds[i];
}

static bool count_of(const vkf_session *session, const vkf__kept_attention *kept, uint32_t layers, uint32_t queries,
                     uint64_t *out_count)
{
    const uint64_t factors[] = {layers, session->desc.max_batch, kept->heads, queries, kept->keys};
    return vkf__product_u64(factors, 5, out_count) && *out_count <= SIZE_MAX / sizeof(float);
}

vkf_status vkf__kept_attention_make(vkf_session *session)
{
    const vkf__host *host = &session->context->host;
    uint64_t largest = 0;
    for (vkf__kept_attention *kept = session->kept; kept < session->kept + VKF_KEPT_COUNT; kept++) {
        uint64_t count = 0, layer = 0;
        if (kept->layers == 0)
            continue;
        if (!count_of(session, kept, kept->layers, kept->queries, &count) ||
            !count_of(session, kept, 1, kept->run_queries, &layer))
            return vkf__fail(host, VKF_ERROR_TOO_LARGE, "session: the attention weights overflow");
        VKF_ALLOC_OR_RETURN(host, kept->weights, (size_t)count);
        largest = layer > largest ? layer : largest;
    }
    // This is allocated here because decoding allocates nothing.
    if (largest > 0)
        VKF_ALLOC_OR_RETURN(host, session->attention_read, (size_t)largest);
    return VKF_OK;
}

void vkf__kept_attention_free(vkf_session *session)
{
    for (int i = 0; i < VKF_KEPT_COUNT; i++)
        vkf__free(&session->context->host, session->kept[i].weights);
    vkf__free(&session->context->host, session->attention_read);
}

vkf__span vkf__kept_attention_span(const vkf_session *session, int kept, uint32_t layer)
{
    vkf__span span = session->kept[kept].first;
    span.offset_bytes += layer * session->kept[kept].stride_bytes;
    return span;
}

static size_t plane_of(const vkf__kept_attention *kept)
{
    return (size_t)kept->queries * kept->keys;
}

// Reads (B, H, rows, keys) of each layer. The rows of a part or a step never see keys after its own, so that their
// weights stay 0.
static vkf_status gather(vkf_session *session, int which, uint32_t first_row, uint32_t rows, uint32_t keys)
{
    vkf__kept_attention *kept = &session->kept[which];
    size_t planes = (size_t)session->sizes.batch * kept->heads;
    kept->rows = first_row;
    for (uint32_t layer = 0; layer < kept->layers; layer++) {
        const vkf__span span = vkf__kept_attention_span(session, which, layer);
        float *to = kept->weights + layer * session->desc.max_batch * kept->heads * plane_of(kept);
        const float *from = session->attention_read;
        VKF_RETURN_IF_ERROR(vkf_buffer_read(span.buffer, span.offset_bytes, session->attention_read,
                                            planes * rows * keys * sizeof *from));
        for (size_t row = 0; row < planes * rows; row++, from += keys) {
            size_t place = (row / rows) * plane_of(kept) + (first_row + row % rows) * kept->keys;
            memcpy(to + place, from, keys * sizeof *from);
        }
    }
    kept->rows = first_row + rows;
    return VKF_OK;
}

vkf_status vkf__kept_attention_gather(vkf_session *session, vkf__stage_group group)
{
    const vkf__session_sizes *sizes = &session->sizes;
    if (group == VKF_STAGES_ENCODE)
        return gather(session, VKF_KEPT_ENCODER, 0, sizes->source_len, sizes->source_len);
    VKF_RETURN_IF_ERROR(gather(session, VKF_KEPT_CROSS, sizes->target_past, sizes->target_len, sizes->source_len));
    return gather(session, VKF_KEPT_DECODER, sizes->target_past, sizes->target_len,
                  sizes->target_past + sizes->target_len);
}

uint32_t vkf__kept_attention_keys(const vkf_session *session, int which, uint32_t query_len)
{
    return which == VKF_KEPT_DECODER ? query_len : session->sizes.source_len;
}

void vkf__kept_attention_read(const vkf_session *session, int which, uint32_t layer, uint32_t row, uint32_t query_len,
                              float *out_weights)
{
    const vkf__kept_attention *kept = &session->kept[which];
    size_t keys = vkf__kept_attention_keys(session, which, query_len);
    const float *from = kept->weights + ((size_t)layer * session->desc.max_batch + row) * kept->heads * plane_of(kept);
    for (size_t h = 0; h < kept->heads; h++, from += plane_of(kept))
        for (size_t t = 0; t < query_len; t++, out_weights += keys)
            memcpy(out_weights, from + t * kept->keys, keys * sizeof *from);
}

// One run of the encoder or the decoder: host data in, a group of stages, host data out.
#include "model/session_run.h"

#include <string.h>

#define CHUNK 4096u

// Host arrays are f32 whatever the stream's storage type.
static vkf_status write_floats(const vkf__span *span, const float *values, uint64_t count)
{
    vkf_status status = VKF_OK;
    uint16_t halves[CHUNK];
    if (span->dtype == VKF_DTYPE_F32)
        return vkf_buffer_write(span->buffer, span->offset_bytes, values, count * sizeof *values);
    for (uint64_t first = 0; first < count; first += CHUNK) {
        uint64_t part = count - first < CHUNK ? count - first : CHUNK;
        vkf_f32_to_f16(values + first, halves, (size_t)part);
        VKF_TRY(vkf_buffer_write(span->buffer, span->offset_bytes + first * sizeof halves[0], halves,
                                 part * sizeof halves[0]));
    }
fail:
    return status;
}

static vkf_status read_floats(const vkf__span *span, float *out_values, uint64_t count)
{
    vkf_status status = VKF_OK;
    uint16_t halves[CHUNK];
    if (span->dtype == VKF_DTYPE_F32)
        return vkf_buffer_read(span->buffer, span->offset_bytes, out_values, count * sizeof *out_values);
    for (uint64_t first = 0; first < count; first += CHUNK) {
        uint64_t part = count - first < CHUNK ? count - first : CHUNK;
        VKF_TRY(vkf_buffer_read(span->buffer, span->offset_bytes + first * sizeof halves[0], halves,
                                part * sizeof halves[0]));
        vkf_f16_to_f32(halves, out_values + first, (size_t)part);
    }
fail:
    return status;
}

static vkf_status write_mask(const vkf__span *span, const void *data, uint64_t count)
{
    if (!vkf__present(span))
        return VKF_OK;
    return vkf_buffer_write(span->buffer, span->offset_bytes, data, count * vkf_dtype_size(span->dtype));
}

// Elements of a mask and of a key mask for the sizes of a run.
static uint64_t mask_count(const vkf_session *session, const vkf_attention_mask *mask, uint64_t rows, uint64_t keys)
{
    uint64_t planes = mask->per_head ? (uint64_t)session->sizes.batch * session->model->config.num_heads : 1;
    return planes * rows * keys;
}

static uint64_t key_mask_count(const vkf_session *session, const vkf_attention_mask *mask, uint64_t keys)
{
    return (uint64_t)session->sizes.batch * (mask->key_kind == VKF_MASK_LENGTHS ? 1 : keys);
}

// The encoder's self attention and the decoder's cross attention both skip padding, wherever it stands.
static vkf_status write_padding(vkf_session *session, const int32_t *ids, uint64_t count)
{
    vkf_status status = VKF_OK;
    uint8_t *padding = NULL;
    VKF_ALLOC(&session->context->host, padding, (size_t)count);
    for (uint64_t i = 0; i < count; i++)
        padding[i] = ids[i] == session->model->config.pad_id;
    VKF_TRY(write_mask(&session->spans.source_key_mask, padding, count));
    VKF_TRY(write_mask(&session->spans.memory_key_mask, padding, count));
fail:
    vkf__free(&session->context->host, padding);
    return status;
}

static vkf_status write_ids(const vkf__span *span, const int32_t *ids, uint64_t count)
{
    return vkf_buffer_write(span->buffer, span->offset_bytes, ids, count * sizeof ids[0]);
}

// Token types that are not given are 0, whatever an earlier run left there.
static vkf_status write_types(vkf_session *session, const int32_t *types, uint64_t count)
{
    vkf_status status = VKF_OK;
    int32_t *zeros = NULL;
    const vkf__span *span = &session->spans.source_types;
    if (!vkf__present(span))
        return VKF_OK;
    if (types)
        return write_ids(span, types, count);
    VKF_ALLOC(&session->context->host, zeros, (size_t)count);
    VKF_TRY(write_ids(span, zeros, count));
fail:
    vkf__free(&session->context->host, zeros);
    return status;
}

static vkf_status write_tokens(vkf_session *session, const vkf_encode_args *args)
{
    vkf_status status = VKF_OK;
    uint64_t positions = (uint64_t)args->batch * args->source_len;
    VKF_TRY(write_ids(&session->spans.source_ids, args->source_ids, positions));
    VKF_TRY(write_types(session, args->source_types, positions));
    VKF_TRY(write_mask(&session->spans.source_key_mask, args->source_lengths, args->batch));
fail:
    return status;
}

static vkf_status write_source(vkf_session *session, const vkf_encode_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__session_spans *s = &session->spans;
    uint64_t positions = (uint64_t)args->batch * args->source_len;
    if (session->model->config.kind == VKF_MODEL_ENCODER) {
        VKF_TRY(write_tokens(session, args));
    } else if (session->model->config.kind == VKF_MODEL_SEQ2SEQ) {
        VKF_TRY(write_ids(&s->source_ids, args->source_ids, positions));
        VKF_TRY(write_padding(session, args->source_ids, positions));
    } else {
        const vkf_attention_mask *mask = &session->desc.source_mask;
        VKF_TRY(write_floats(&s->memory, args->source, positions * session->model->config.d_model));
        VKF_TRY(write_mask(&s->source_mask, args->source_mask,
                           mask_count(session, mask, args->source_len, args->source_len)));
        VKF_TRY(
            write_mask(&s->source_key_mask, args->source_key_mask, key_mask_count(session, mask, args->source_len)));
    }
fail:
    return status;
}

vkf_status vkf__session_encode(vkf_session *session, const vkf_encode_args *args)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &session->model->config;
    const vkf__session_sizes sizes = {
        .batch = args->batch,
        .source_len = args->source_len,
        .logit_rows = args->out_logits ? 1 : 0,
    };
    session->encoded = false;
    session->memory_cached = false;
    for (int i = 0; i < VKF_KEPT_COUNT; i++)
        session->kept[i].rows = 0;
    session->sizes = sizes;
    VKF_TRY(write_source(session, args));
    if (session->group_begin[VKF_STAGES_ENCODE + 1] > 0)
        VKF_TRY(vkf__session_run(session, VKF_STAGES_ENCODE, &sizes));
    if (args->out_memory)
        VKF_TRY(read_floats(&session->spans.memory, args->out_memory,
                            (uint64_t)args->batch * args->source_len * session->model->config.d_model));
    if (args->out_logits)
        VKF_TRY(read_floats(&session->spans.logits, args->out_logits,
                            (uint64_t)args->batch * config->head_outputs *
                                (config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION ? 1 : args->source_len)));
    if (args->out_embeddings)
        VKF_TRY(read_floats(&session->spans.embeddings, args->out_embeddings,
                            (uint64_t)args->batch * session->model->config.d_model));
    session->encoded = true;
fail:
    return status;
}

static vkf_status write_target(vkf_session *session, const vkf_decode_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__session_spans *s = &session->spans;
    const vkf__session_sizes *sizes = &session->sizes;
    uint64_t t = args->target_len;
    if (session->model->config.kind == VKF_MODEL_SEQ2SEQ) {
        uint64_t row_bytes = (uint64_t)session->desc.max_target_len * sizeof(int32_t);
        for (uint32_t b = 0; b < sizes->batch; b++)
            VKF_TRY(vkf_buffer_write(s->target_ids.buffer, s->target_ids.offset_bytes + b * row_bytes,
                                     args->target_ids + b * t, t * sizeof(int32_t)));
    } else {
        VKF_TRY(write_floats(&s->hidden, args->target, sizes->batch * t * session->model->config.d_model));
        VKF_TRY(write_mask(&s->target_mask, args->target_mask, mask_count(session, &session->desc.target_mask, t, t)));
        VKF_TRY(write_mask(&s->memory_mask, args->memory_mask,
                           mask_count(session, &session->desc.memory_mask, t, sizes->source_len)));
        VKF_TRY(write_mask(&s->memory_key_mask, args->memory_key_mask,
                           key_mask_count(session, &session->desc.memory_mask, sizes->source_len)));
    }
    VKF_TRY(
        write_mask(&s->target_key_mask, args->target_key_mask, key_mask_count(session, &session->desc.target_mask, t)));
fail:
    return status;
}

vkf_status vkf__session_decode(vkf_session *session, const vkf_decode_args *args)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &session->model->config;
    const vkf__session_sizes sizes = {
        .batch = session->sizes.batch,
        .source_len = session->sizes.source_len,
        .target_len = args->target_len,
        .logit_rows = args->out_logits ? args->target_len : 0,
        .project_memory = !session->memory_cached,
    };
    uint64_t positions = (uint64_t)sizes.batch * sizes.target_len;
    VKF_TRY(write_target(session, args));
    VKF_TRY(vkf__session_run(session, VKF_STAGES_DECODE, &sizes));
    session->memory_cached = true;
    if (args->out_hidden)
        VKF_TRY(read_floats(&session->spans.hidden, args->out_hidden, positions * config->d_model));
    if (args->out_logits)
        VKF_TRY(read_floats(&session->spans.logits, args->out_logits, positions * config->target_vocab));
fail:
    return status;
}

// What greedy decoding has said so far; the caller's arrays are written only when all of it is there.
typedef struct generated {
    int32_t *ids; // (B, max_len)
    uint32_t *lengths;
    uint32_t max_len;
} generated;

vkf_status vkf__session_write_first_tokens(vkf_session *session, uint32_t batch)
{
    vkf_status status = VKF_OK;
    const vkf__span *ids = &session->spans.target_ids;
    uint64_t row_bytes = (uint64_t)session->desc.max_target_len * sizeof(int32_t);
    int32_t bos = session->model->config.bos_id;
    for (uint32_t b = 0; b < batch; b++)
        VKF_TRY(vkf_buffer_write(ids->buffer, ids->offset_bytes + b * row_bytes, &bos, sizeof bos));
fail:
    return status;
}

// Where the model says which token comes, whatever the logits say; that is written over what was chosen.
static vkf_status force_token(vkf_session *session, const generated *out, uint32_t position, uint64_t at,
                              int32_t *inout_token)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__span *ids = &session->spans.target_ids;
    bool first = position == 1 && config->forced_bos, last = position + 1 == out->max_len && config->forced_eos;
    if (!first && !last)
        return VKF_OK;
    *inout_token = last ? config->forced_eos_id : config->forced_bos_id;
    return vkf_buffer_write(ids->buffer, ids->offset_bytes + at * sizeof(int32_t), inout_token, sizeof(int32_t));
}

// Takes the tokens of one position to the rows that still run; *out_live is how many do after that.
static vkf_status take_tokens(vkf_session *session, generated *out, uint32_t position, uint32_t *out_live)
{
    vkf_status status = VKF_OK;
    const vkf__span *ids = &session->spans.target_ids;
    uint32_t live = 0;
    for (uint32_t b = 0; b < session->sizes.batch; b++) {
        uint64_t at = (uint64_t)b * session->desc.max_target_len + position;
        int32_t *row = out->ids + (size_t)b * out->max_len;
        if (out->lengths[b] < position || (position > 1 && row[position - 1] == session->model->config.eos_id))
            continue;
        VKF_TRY(
            vkf_buffer_read(ids->buffer, ids->offset_bytes + at * sizeof(int32_t), &row[position], sizeof(int32_t)));
        VKF_TRY(force_token(session, out, position, at, &row[position]));
        out->lengths[b] = position + 1;
        live += row[position] != session->model->config.eos_id;
    }
    *out_live = live;
fail:
    return status;
}

static vkf_status step(vkf_session *session, uint32_t past)
{
    vkf_status status = VKF_OK;
    const vkf__session_sizes sizes = {
        .batch = session->sizes.batch,
        .source_len = session->sizes.source_len,
        .target_len = 1,
        .target_past = past,
        .logit_rows = 1,
        .choose = true,
        .project_memory = !session->memory_cached,
    };
    VKF_TRY(vkf__session_run(session, VKF_STAGES_STEP, &sizes));
    session->memory_cached = true;
fail:
    return status;
}

static vkf_status generate(vkf_session *session, const vkf_greedy_args *args, generated *out)
{
    vkf_status status = VKF_OK;
    uint32_t live = args->batch;
    for (uint32_t position = 1; position < out->max_len && live > 0; position++) {
        if (args->progress && !args->progress(args->progress_user, position, out->max_len, "tokens"))
            return VKF_ERROR_CANCELLED;
        VKF_TRY(step(session, position - 1));
        VKF_TRY(take_tokens(session, out, position, &live));
    }
fail:
    return status;
}

vkf_status vkf__session_greedy(vkf_session *session, const vkf_greedy_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    const vkf_model_config *config = &session->model->config;
    generated out = {.max_len = args->max_len > 0 ? args->max_len : session->desc.max_target_len};
    const vkf_encode_args encode = {
        .batch = args->batch,
        .source_len = args->source_len,
        .source_ids = args->source_ids,
    };
    size_t count = (size_t)args->batch * out.max_len;
    session->sampling = vkf__no_sampling();
    VKF_ALLOC(host, out.ids, count);
    VKF_ALLOC(host, out.lengths, args->batch);
    for (size_t i = 0; i < count; i++)
        out.ids[i] = i % out.max_len == 0 ? config->bos_id : config->pad_id;
    for (uint32_t b = 0; b < args->batch; b++)
        out.lengths[b] = 1;
    VKF_TRY(vkf__session_encode(session, &encode));
    VKF_TRY(vkf__session_write_first_tokens(session, args->batch));
    VKF_TRY(generate(session, args, &out));
    memcpy(args->out_ids, out.ids, count * sizeof out.ids[0]);
    memcpy(args->out_lengths, out.lengths, args->batch * sizeof out.lengths[0]);
fail:
    vkf__free(host, out.ids);
    vkf__free(host, out.lengths);
    return status;
}

// One run of the encoder or the decoder: writes the caller's data, runs a group of stages, reads the results.
#include "model/session/session_run.h"

#include <string.h>

#include "model/family/rotary_rows.h"
#include "model/load/finite.h"
#include "model/session/session_flight.h"
#include "model/session/session_layout.h"
#include "model/session/session_results.h"

#define CHUNK 4096u

vkf_status vkf__span_write_floats(const vkf__span *span, const float *values, uint64_t count)
{
    uint16_t halves[CHUNK];
    if (span->dtype == VKF_DTYPE_F32)
        return vkf_buffer_write(span->buffer, span->offset_bytes, values, count * sizeof *values);
    for (uint64_t first = 0; first < count; first += CHUNK) {
        uint64_t part = count - first < CHUNK ? count - first : CHUNK;
        vkf_f32_to_f16(values + first, halves, (size_t)part);
        VKF_RETURN_IF_ERROR(vkf_buffer_write(span->buffer, span->offset_bytes + first * sizeof halves[0], halves,
                                             part * sizeof halves[0]));
    }
    return VKF_OK;
}

vkf_status vkf__span_read_floats(const vkf__span *span, float *out_values, uint64_t count)
{
    uint16_t halves[CHUNK];
    if (span->dtype == VKF_DTYPE_F32)
        return vkf_buffer_read(span->buffer, span->offset_bytes, out_values, count * sizeof *out_values);
    for (uint64_t first = 0; first < count; first += CHUNK) {
        uint64_t part = count - first < CHUNK ? count - first : CHUNK;
        VKF_RETURN_IF_ERROR(vkf_buffer_read(span->buffer, span->offset_bytes + first * sizeof halves[0], halves,
                                            part * sizeof halves[0]));
        vkf_f16_to_f32(halves, out_values + first, (size_t)part);
    }
    return VKF_OK;
}

static vkf_status write_mask(const vkf__span *span, const void *data, uint64_t count)
{
    if (!vkf__present(span))
        return VKF_OK;
    return vkf_buffer_write(span->buffer, span->offset_bytes, data, count * vkf_dtype_size(span->dtype));
}

// The number of elements of a mask, and below of a key mask, for the sizes of a run.
static uint64_t mask_count(const vkf_session *session, const vkf_attention_mask *mask, uint64_t rows, uint64_t keys)
{
    uint64_t planes = mask->per_head ? (uint64_t)session->sizes.batch * session->model->config.num_heads : 1;
    return planes * rows * keys;
}

static uint64_t key_mask_count(const vkf_session *session, const vkf_attention_mask *mask, uint64_t keys)
{
    return (uint64_t)session->sizes.batch * (mask->key_kind == VKF_MASK_LENGTHS ? 1 : keys);
}

// The encoder's self attention and the decoder's cross attention both skip padding, wherever it is.
static vkf_status write_padding(vkf_session *session, const vkf_encode_args *args)
{
    vkf_status status = VKF_OK;
    uint8_t *padding = NULL;
    uint64_t count = (uint64_t)args->batch * args->source_len;
    const uint32_t *lengths = args->source_lengths;
    VKF_ALLOC(&session->context->host, padding, (size_t)count);
    for (uint64_t i = 0; i < count; i++) {
        bool pads = lengths ? i % args->source_len >= lengths[i / args->source_len]
                            : args->source_ids[i] == session->model->config.pad_id;
        padding[i] = pads ? 1 : 0;
    }
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

static vkf_status write_source_ids(vkf_session *session, const vkf_encode_args *args)
{
    const uint64_t positions = (uint64_t)args->batch * args->source_len;
    return args->source_ids ? write_ids(&session->spans.source_ids, args->source_ids, positions) : VKF_OK;
}

static vkf_status write_embedded(vkf_session *session, const vkf_encode_args *args)
{
    const uint64_t positions = (uint64_t)args->batch * args->source_len;
    if (!args->source)
        return VKF_OK;
    return vkf__span_write_floats(&session->spans.memory, args->source, positions * session->model->config.d_model);
}

// Where the caller gives no token types they are 0: an earlier run may have left others there.
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

// A causal encoder classifies by the last token that is not padding. Trailing padding ids are dropped even where the
// tokenizer counts them as part of the text.
static vkf_status write_lengths(vkf_session *session, const vkf_encode_args *args)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &session->model->config;
    uint32_t *lengths = NULL;
    if (!config->causal || config->head != VKF_HEAD_SEQUENCE_CLASSIFICATION)
        return write_mask(&session->spans.source_key_mask, args->source_lengths, args->batch);
    VKF_ALLOC(&session->context->host, lengths, args->batch);
    for (uint32_t b = 0; b < args->batch; b++) {
        const int32_t *ids = args->source_ids + (size_t)b * args->source_len;
        lengths[b] = args->source_lengths[b];
        while (lengths[b] > 1 && ids[lengths[b] - 1] == config->pad_id)
            lengths[b]--;
    }
    VKF_TRY(write_mask(&session->spans.source_key_mask, lengths, args->batch));
fail:
    vkf__free(&session->context->host, lengths);
    return status;
}

// With dynamic scaling the rotations depend on the length of the longest sequence, so every run writes them.
static vkf_status write_rotations(vkf_session *session, const vkf_rotary_config *rotary, const vkf__span *span,
                                  uint32_t len)
{
    vkf_status status = VKF_OK;
    float *rows = NULL;
    if (rotary->dim == 0 || rotary->dynamic_from == 0)
        return VKF_OK;
    VKF_ALLOC(&session->context->host, rows, (size_t)len * rotary->dim);
    vkf__rotary_rows(rotary, 0, len, len, rows);
    VKF_TRY(vkf_buffer_write(span->buffer, span->offset_bytes, rows, (uint64_t)len * rotary->dim * sizeof *rows));
fail:
    vkf__free(&session->context->host, rows);
    return status;
}

// Position ids as RoBERTa counts them: padding has the position pad_id, and the other tokens are numbered without it.
static vkf_status write_position_ids(vkf_session *session, const vkf_encode_args *args)
{
    vkf_status status = VKF_OK;
    const vkf_model_config *config = &session->model->config;
    vkf__span span = session->spans.source_ids;
    int32_t *positions = NULL;
    if (!vkf__has_position_ids(config))
        return VKF_OK;
    VKF_ALLOC(&session->context->host, positions, (size_t)args->batch * args->source_len);
    for (uint32_t b = 0; b < args->batch; b++) {
        int32_t next = (int32_t)config->position_offset;
        for (size_t t = (size_t)b * args->source_len, end = t + args->source_len; t < end; t++)
            positions[t] = args->source_ids[t] == config->pad_id ? config->pad_id : next++;
    }
    span.offset_bytes += (uint64_t)session->desc.max_batch * session->desc.max_source_len * sizeof *positions;
    VKF_TRY(write_ids(&span, positions, (uint64_t)args->batch * args->source_len));
fail:
    vkf__free(&session->context->host, positions);
    return status;
}

static vkf_status write_tokens(vkf_session *session, const vkf_encode_args *args)
{
    const vkf_model_config *config = &session->model->config;
    uint64_t positions = (uint64_t)args->batch * args->source_len;
    VKF_RETURN_IF_ERROR(write_source_ids(session, args));
    VKF_RETURN_IF_ERROR(write_position_ids(session, args));
    VKF_RETURN_IF_ERROR(write_types(session, args->source_types, positions));
    VKF_RETURN_IF_ERROR(write_lengths(session, args));
    VKF_RETURN_IF_ERROR(write_rotations(session, &config->rotary, &session->spans.rotary, args->source_len));
    return write_rotations(session, &config->window_rotary, &session->spans.window_rotary, args->source_len);
}

static vkf_status write_source(vkf_session *session, const vkf_encode_args *args)
{
    const vkf__session_spans *s = &session->spans;
    const vkf__kind_facts *facts = vkf__facts_of(&session->model->config);
    if (facts->source_lengths) {
        VKF_RETURN_IF_ERROR(write_tokens(session, args));
    } else if (facts->source_ids) {
        VKF_RETURN_IF_ERROR(write_source_ids(session, args));
        VKF_RETURN_IF_ERROR(write_padding(session, args));
    } else {
        const vkf_attention_mask *mask = &session->desc.source_mask;
        VKF_RETURN_IF_ERROR(write_embedded(session, args));
        VKF_RETURN_IF_ERROR(write_mask(&s->source_mask, args->source_mask,
                                       mask_count(session, mask, args->source_len, args->source_len)));
        VKF_RETURN_IF_ERROR(
            write_mask(&s->source_key_mask, args->source_key_mask, key_mask_count(session, mask, args->source_len)));
    }
    return VKF_OK;
}

// Forgets the last memory, and writes what the run reads.
static vkf_status begin_encoder(vkf_session *session, const vkf_encode_args *args, const vkf__session_sizes *sizes)
{
    session->encoded = false;
    session->memory_cached = false;
    for (int i = 0; i < VKF_KEPT_COUNT; i++)
        session->kept[i].rows = 0;
    session->sizes = *sizes;
    return write_source(session, args);
}

static vkf__session_sizes encoder_sizes(const vkf_encode_args *args, bool logits)
{
    return (vkf__session_sizes){
        .batch = args->batch,
        .source_len = args->source_len,
        .prompt_len = args->prompt_len,
        .logit_rows = logits ? 1 : 0,
    };
}

vkf_status vkf__session_launch_encode(vkf_session *session, const vkf_encode_args *args,
                                      const vkf__submit_semaphores *semaphores)
{
    const vkf__session_sizes sizes = encoder_sizes(args, vkf__session_has_head(session));
    VKF_RETURN_IF_ERROR(begin_encoder(session, args, &sizes));
    VKF_RETURN_IF_ERROR(vkf__session_launch(session, VKF_STAGES_ENCODE, &sizes, semaphores));
    session->encoded = true;
    return VKF_OK;
}

static vkf_status run_encoder(vkf_session *session, const vkf_encode_args *args)
{
    const vkf__session_sizes sizes = encoder_sizes(args, args->out_logits != NULL);
    VKF_RETURN_IF_ERROR(begin_encoder(session, args, &sizes));
    VKF_RETURN_IF_ERROR(vkf__session_run(session, VKF_STAGES_ENCODE, &sizes));
    session->encoded = true;
    return VKF_OK;
}

static uint64_t head_count(const vkf_session *session, const vkf_encode_args *args)
{
    const vkf_model_config *config = &session->model->config;
    uint64_t rows = config->head == VKF_HEAD_SEQUENCE_CLASSIFICATION ? 1 : args->source_len;
    return args->batch * rows * config->head_outputs;
}

static vkf_status read_encoded(const vkf_session *session, const vkf_encode_args *args)
{
    uint64_t d_model = session->model->config.d_model;
    if (args->out_memory)
        VKF_RETURN_IF_ERROR(
            vkf__span_read_floats(&session->spans.memory, args->out_memory, args->batch * d_model * args->source_len));
    if (args->out_logits)
        VKF_RETURN_IF_ERROR(vkf__span_read_floats(&session->spans.logits, args->out_logits, head_count(session, args)));
    if (args->out_embeddings)
        VKF_RETURN_IF_ERROR(vkf__span_read_floats(&session->spans.embeddings, args->out_embeddings,
                                                  (uint64_t)args->batch * session->model->config.embedding_dim));
    return VKF_OK;
}

vkf_status vkf__session_encode(vkf_session *session, const vkf_encode_args *args)
{
    VKF_RETURN_IF_ERROR(run_encoder(session, args));
    return read_encoded(session, args);
}

static vkf_status check_rows(const vkf_session *session, const float *values, uint32_t rows, size_t each,
                             const char *what)
{
    for (uint32_t row = 0; row < rows; row++)
        if (!vkf__all_finite(values + row * each, each))
            return vkf__not_finite(session, "row %u of the batch: %s", row, what);
    return VKF_OK;
}

vkf_status vkf__session_encode_numbers(vkf_session *session, const vkf_encode_args *args)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    size_t dim = args->out_embeddings ? session->model->config.embedding_dim : 0;
    size_t logits = args->out_logits ? (size_t)head_count(session, args) : 0;
    vkf_encode_args kept = {.batch = args->batch, .source_len = args->source_len};
    const vkf_encode_args memory = {
        .batch = args->batch, .source_len = args->source_len, .out_memory = args->out_memory};
    if (dim > 0)
        VKF_ALLOC(host, kept.out_embeddings, args->batch * dim);
    if (logits > 0)
        VKF_ALLOC(host, kept.out_logits, logits);
    VKF_TRY(run_encoder(session, args));
    VKF_TRY(read_encoded(session, &kept));
    if (dim > 0)
        VKF_TRY(check_rows(session, kept.out_embeddings, args->batch, dim, "the embedding"));
    if (logits > 0)
        VKF_TRY(check_rows(session, kept.out_logits, args->batch, logits / args->batch, "the logits of the head"));
    VKF_TRY(read_encoded(session, &memory));
    if (dim > 0)
        memcpy(args->out_embeddings, kept.out_embeddings, args->batch * dim * sizeof *kept.out_embeddings);
    if (logits > 0)
        memcpy(args->out_logits, kept.out_logits, logits * sizeof *kept.out_logits);
fail:
    vkf__free(host, kept.out_embeddings);
    vkf__free(host, kept.out_logits);
    return status;
}

static vkf_status write_target(vkf_session *session, const vkf_decode_args *args)
{
    const vkf__session_spans *s = &session->spans;
    const vkf__session_sizes *sizes = &session->sizes;
    uint64_t t = args->target_len;
    if (vkf__facts_of(&session->model->config)->generates) {
        uint64_t row_bytes = (uint64_t)session->desc.max_target_len * sizeof(int32_t);
        for (uint32_t b = 0; b < sizes->batch; b++)
            VKF_RETURN_IF_ERROR(vkf_buffer_write(s->target_ids.buffer, s->target_ids.offset_bytes + b * row_bytes,
                                                 args->target_ids + b * t, t * sizeof(int32_t)));
    } else {
        VKF_RETURN_IF_ERROR(
            vkf__span_write_floats(&s->hidden, args->target, sizes->batch * t * session->model->config.d_model));
        VKF_RETURN_IF_ERROR(
            write_mask(&s->target_mask, args->target_mask, mask_count(session, &session->desc.target_mask, t, t)));
        VKF_RETURN_IF_ERROR(write_mask(&s->memory_mask, args->memory_mask,
                                       mask_count(session, &session->desc.memory_mask, t, sizes->source_len)));
        VKF_RETURN_IF_ERROR(write_mask(&s->memory_key_mask, args->memory_key_mask,
                                       key_mask_count(session, &session->desc.memory_mask, sizes->source_len)));
    }
    return write_mask(&s->target_key_mask, args->target_key_mask,
                      key_mask_count(session, &session->desc.target_mask, t));
}

vkf_status vkf__session_decode(vkf_session *session, const vkf_decode_args *args)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__session_sizes sizes = {
        .batch = session->sizes.batch,
        .source_len = session->sizes.source_len,
        .target_len = args->target_len,
        .logit_rows = args->out_logits ? args->target_len : 0,
        .project_memory = !session->memory_cached,
    };
    uint64_t positions = (uint64_t)sizes.batch * sizes.target_len;
    VKF_RETURN_IF_ERROR(write_target(session, args));
    VKF_RETURN_IF_ERROR(vkf__session_run(session, VKF_STAGES_DECODE, &sizes));
    session->memory_cached = true;
    if (args->out_hidden)
        VKF_RETURN_IF_ERROR(
            vkf__span_read_floats(&session->spans.hidden, args->out_hidden, positions * config->d_model));
    if (args->out_logits)
        VKF_RETURN_IF_ERROR(
            vkf__span_read_floats(&session->spans.logits, args->out_logits, positions * config->target_vocab));
    return VKF_OK;
}

// The tokens of greedy decoding so far. The caller's arrays are written only when all of them are there.
typedef struct generated {
    int32_t *ids; // (B, max_len)
    uint32_t *lengths;
    uint32_t max_len;
} generated;

vkf_status vkf__session_write_first_tokens(vkf_session *session, uint32_t batch)
{
    const vkf__span *ids = &session->spans.target_ids;
    uint64_t row_bytes = (uint64_t)session->desc.max_target_len * sizeof(int32_t);
    int32_t bos = session->model->config.bos_id;
    for (uint32_t b = 0; b < batch; b++)
        VKF_RETURN_IF_ERROR(vkf_buffer_write(ids->buffer, ids->offset_bytes + b * row_bytes, &bos, sizeof bos));
    return VKF_OK;
}

// Some models fix the first or the last token whatever the logits are. It replaces the token that the device chose.
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

// Appends the tokens of one position to the rows that still run; *out_live is the number of rows that go on.
static vkf_status take_tokens(vkf_session *session, generated *out, uint32_t position, uint32_t *out_live)
{
    uint32_t live = 0;
    for (uint32_t b = 0; b < session->sizes.batch; b++) {
        uint64_t at = (uint64_t)b * session->desc.max_target_len + position;
        int32_t *row = out->ids + (size_t)b * out->max_len;
        if (out->lengths[b] < position || (position > 1 && row[position - 1] == session->model->config.eos_id))
            continue;
        VKF_RETURN_IF_ERROR(vkf__read_chosen(session, at, b, position, &row[position]));
        VKF_RETURN_IF_ERROR(force_token(session, out, position, at, &row[position]));
        out->lengths[b] = position + 1;
        live += row[position] != session->model->config.eos_id;
    }
    *out_live = live;
    return VKF_OK;
}

static vkf__session_sizes step_sizes(const vkf_session *session, uint32_t position, bool project_memory)
{
    return (vkf__session_sizes){
        .batch = session->sizes.batch,
        .source_len = session->sizes.source_len,
        .target_len = 1,
        .target_past = position - 1,
        .logit_rows = 1,
        .samples = true,
        .project_memory = project_memory,
    };
}

// Chooses the tokens of a position. Those of the next one may follow at once unless the host writes the tokens that
// they are behind.
static vkf_status step(vkf_session *session, const generated *out, uint32_t position)
{
    const vkf__session_sizes sizes = step_sizes(session, position, !session->memory_cached);
    const vkf__session_sizes next = step_sizes(session, position + 1, false);
    const bool follows = position + 1 < out->max_len && !(position == 1 && session->model->config.forced_bos);
    VKF_RETURN_IF_ERROR(vkf__session_step(session, &sizes, follows ? &next : NULL));
    session->memory_cached = true;
    return VKF_OK;
}

static vkf_status generate(vkf_session *session, const vkf_greedy_args *args, generated *out)
{
    vkf_status status = VKF_OK;
    uint32_t live = args->batch;
    for (uint32_t position = 1; position < out->max_len && live > 0; position++) {
        if (args->progress && !args->progress(args->progress_user, position, out->max_len, "tokens"))
            VKF_TRY(VKF_ERROR_CANCELLED);
        VKF_TRY(step(session, out, position));
        VKF_TRY(take_tokens(session, out, position, &live));
    }
fail:
    vkf__session_drop_step(session);
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
        out.ids[i] = i % out.max_len == 0 ? config->bos_id : config->pad_id >= 0 ? config->pad_id : 0;
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

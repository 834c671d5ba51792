// Moves keys and values between a cache and a stream of bytes, or a file.
#include "model/session/session_save.h"

#include "base/hash.h"
#include "base/new_file.h"
#include "io/file.h"
#include "model/session/cache_file.h"
#include "model/session/cached_rows.h"
#include "model/session/session_layout.h"

static vkf__cache_shape shape_of(const vkf_session *session)
{
    const vkf_model_config *config = &session->model->config;
    const vkf__stack stack = vkf__stack_of(config, true);
    return (vkf__cache_shape){
        .model = session->model->fingerprint,
        .layers = config->num_decoder_layers,
        .kv_heads = stack.kv_heads,
        .head_dim = stack.head_dim,
        .vocab = config->target_vocab,
        .element_bytes = (uint32_t)vkf_dtype_size(session->desc.cache_dtype),
    };
}

// One pass over all keys and values, to a stream or from it.
typedef struct transfer {
    const vkf_session *session;
    vkf__cache_stream stream;
    vkf__cache_row *rows; // (max_batch)
    uint8_t *bytes;       // room for a row of one cache
} transfer;

static size_t token_bytes(const vkf_session *session)
{
    const vkf__cache_shape shape = shape_of(session);
    return (size_t)shape.kv_heads * shape.head_dim * shape.element_bytes;
}

static vkf_status transfer_row(transfer *t, const vkf__span *cache, uint32_t row)
{
    const size_t each = token_bytes(t->session), size = t->rows[row].count * each;
    const uint64_t place = (uint64_t)row * vkf__cache_len(t->session) + t->rows[row].begin;
    const uint64_t offset = cache->offset_bytes + place * each;
    if (size == 0)
        return VKF_OK;
    if (t->stream.read) {
        VKF_RETURN_IF_ERROR(vkf__cache_read(&t->stream, t->bytes, size));
        return vkf_buffer_write(cache->buffer, offset, t->bytes, size);
    }
    VKF_RETURN_IF_ERROR(vkf_buffer_read(cache->buffer, offset, t->bytes, size));
    return vkf__cache_write(&t->stream, t->bytes, size);
}

static vkf_status transfer_rows(transfer *t)
{
    const vkf__session_spans *s = &t->session->spans;
    for (uint32_t row = 0; row < t->session->desc.max_batch; row++)
        for (uint32_t layer = 0; layer < t->session->model->config.num_decoder_layers; layer++) {
            VKF_RETURN_IF_ERROR(transfer_row(t, &s->self_k[layer], row));
            VKF_RETURN_IF_ERROR(transfer_row(t, &s->self_v[layer], row));
        }
    return VKF_OK;
}

static vkf_status transfer_begin(transfer *t, int32_t *ids)
{
    const vkf_session *session = t->session;
    const vkf__host *host = &session->context->host;
    VKF_ALLOC_OR_RETURN(host, t->rows, session->desc.max_batch);
    VKF_ALLOC_OR_RETURN(host, t->bytes, session->desc.max_target_len * token_bytes(session));
    for (uint32_t row = 0; row < session->desc.max_batch; row++) {
        const vkf__cached_row *cached = &session->rows[row];
        t->rows[row] = (vkf__cache_row){.begin = cached->count > 0 ? cached->begin : 0,
                                        .count = cached->count,
                                        .ids = ids + (size_t)row * session->desc.max_target_len};
    }
    return VKF_OK;
}

static void transfer_end(transfer *t)
{
    vkf__free(&t->session->context->host, t->rows);
    vkf__free(&t->session->context->host, t->bytes);
}

// Empty rows at the end are not saved.
static uint32_t used_rows(const vkf_session *session)
{
    uint32_t count = session->desc.max_batch;
    while (count > 0 && session->rows[count - 1].count == 0)
        count--;
    return count;
}

vkf_status vkf__session_save_to(const vkf_session *session, const char *name, vkf_write_fn write, void *user)
{
    vkf_status status = VKF_OK;
    const vkf__cache_shape shape = shape_of(session);
    transfer t = {
        .session = session,
        .stream = {.host = &session->context->host, .name = name, .write = write, .user = user, .hash = VKF_HASH_SEED}};
    VKF_TRY(transfer_begin(&t, session->row_ids));
    VKF_TRY(vkf__cache_write_header(&t.stream, &shape, t.rows, used_rows(session)));
    VKF_TRY(transfer_rows(&t));
    VKF_TRY(vkf__cache_write_hash(&t.stream));
fail:
    transfer_end(&t);
    return status;
}

// The rows count only when all of their keys and values are there, and are those that were saved.
vkf_status vkf__session_load_from(vkf_session *session, const char *name, vkf_read_fn read, void *user)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    const vkf__cache_shape shape = shape_of(session);
    const size_t places = (size_t)session->desc.max_batch * session->desc.max_target_len;
    int32_t *ids = NULL;
    transfer t = {.session = session,
                  .stream = {.host = host, .name = name, .read = read, .user = user, .hash = VKF_HASH_SEED}};
    VKF_ALLOC(host, ids, places);
    VKF_TRY(transfer_begin(&t, ids));
    VKF_TRY(vkf__cache_read_header(&t.stream, &shape, session->desc.max_target_len, t.rows, session->desc.max_batch));
    vkf__rows_forget(session);
    VKF_TRY(transfer_rows(&t));
    VKF_TRY(vkf__cache_read_hash(&t.stream));
    for (uint32_t row = 0; row < session->desc.max_batch; row++) {
        session->rows[row].begin = t.rows[row].begin;
        vkf__row_add(session, row, t.rows[row].ids, t.rows[row].count);
    }
fail:
    transfer_end(&t);
    vkf__free(host, ids);
    return status;
}

// ---- files

static bool write_file(void *user, const void *bytes, size_t size_bytes)
{
    return vkf__new_file_write(user, bytes, size_bytes) == VKF_OK;
}

vkf_status vkf__session_save(const vkf_session *session, const char *path)
{
    vkf__new_file file = {0};
    VKF_RETURN_IF_ERROR(vkf__new_file_open(&session->context->host, path, &file));
    vkf_status status = vkf__session_save_to(session, path, write_file, &file);
    if (status == VKF_OK)
        return vkf__new_file_commit(&file);
    vkf__new_file_discard(&file);
    return status;
}

typedef struct reader {
    vkf__file *file;
    uint64_t at;
} reader;

static bool read_file(void *user, void *out_bytes, size_t size_bytes)
{
    reader *r = user;
    if (size_bytes > vkf__file_size(r->file) - r->at)
        return false;
    if (vkf__file_read_at(r->file, r->at, out_bytes, size_bytes) != VKF_OK)
        return false;
    r->at += size_bytes;
    return true;
}

vkf_status vkf__session_load(vkf_session *session, const char *path)
{
    reader r = {0};
    VKF_RETURN_IF_ERROR(vkf__file_open(&session->context->host, path, &r.file));
    vkf_status status = vkf__session_load_from(session, path, read_file, &r);
    if (status == VKF_OK && r.at < vkf__file_size(r.file)) {
        vkf__rows_forget(session);
        status = vkf__fail(&session->context->host, VKF_ERROR_FORMAT,
                           "%s: more follows the saved cache, which is damaged; save it again", path);
    }
    vkf__file_close(&r.file);
    return status;
}

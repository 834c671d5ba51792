// Writes and reads the header of saved caches, and keeps the hash of what goes by.
#include "model/session/cache_file.h"

#include <inttypes.h>

#include "base/hash.h"
#include "io/byte_source.h"

#define MAGIC "VKFCACHE"
#define VERSION 1u
#define HEADER_BYTES 48

vkf_status vkf__cache_write(vkf__cache_stream *stream, const void *bytes, size_t size_bytes)
{
    stream->hash = vkf__hash(stream->hash, bytes, size_bytes);
    if (size_bytes == 0 || stream->write(stream->user, bytes, size_bytes))
        return VKF_OK;
    return vkf__fail(stream->host, VKF_ERROR_FILE, "%s: the cache could not be written", stream->name);
}

vkf_status vkf__cache_read(vkf__cache_stream *stream, void *out_bytes, size_t size_bytes)
{
    if (size_bytes > 0 && !stream->read(stream->user, out_bytes, size_bytes))
        return vkf__fail(stream->host, VKF_ERROR_FILE,
                         "%s: the saved cache ends too early, or cannot be read; save it again", stream->name);
    stream->hash = vkf__hash(stream->hash, out_bytes, size_bytes);
    return VKF_OK;
}

static void store_le(uint8_t *bytes, uint64_t value, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

vkf_status vkf__cache_write_hash(vkf__cache_stream *stream)
{
    uint8_t bytes[8];
    store_le(bytes, stream->hash, sizeof bytes);
    return vkf__cache_write(stream, bytes, sizeof bytes);
}

vkf_status vkf__cache_read_hash(vkf__cache_stream *stream)
{
    uint8_t bytes[8];
    const uint64_t expected = stream->hash;
    VKF_RETURN_IF_ERROR(vkf__cache_read(stream, bytes, sizeof bytes));
    if (vkf__load_le(bytes, sizeof bytes) == expected)
        return VKF_OK;
    return vkf__fail(stream->host, VKF_ERROR_FORMAT, "%s: the saved cache is damaged; save it again", stream->name);
}

// A row's begin and count, and then the ids.
static vkf_status write_row(vkf__cache_stream *stream, const vkf__cache_row *row)
{
    uint8_t bytes[8];
    store_le(bytes, row->begin, 4);
    store_le(bytes + 4, row->count, 4);
    VKF_RETURN_IF_ERROR(vkf__cache_write(stream, bytes, sizeof bytes));
    for (uint32_t i = 0; i < row->count; i++) {
        store_le(bytes, (uint32_t)row->ids[i], 4);
        VKF_RETURN_IF_ERROR(vkf__cache_write(stream, bytes, 4));
    }
    return VKF_OK;
}

vkf_status vkf__cache_write_header(vkf__cache_stream *stream, const vkf__cache_shape *shape, const vkf__cache_row *rows,
                                   uint32_t count)
{
    const uint32_t words[] = {shape->layers, shape->kv_heads, shape->head_dim, shape->vocab, shape->element_bytes};
    uint8_t header[HEADER_BYTES] = MAGIC;
    store_le(header + 8, VERSION, 4);
    store_le(header + 12, count, 4);
    store_le(header + 16, shape->model, 8);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        store_le(header + 24 + 4 * i, words[i], 4);
    VKF_RETURN_IF_ERROR(vkf__cache_write(stream, header, sizeof header));
    for (uint32_t i = 0; i < count; i++)
        VKF_RETURN_IF_ERROR(write_row(stream, &rows[i]));
    return vkf__cache_write_hash(stream);
}

static vkf_status check_shape(const vkf__cache_stream *stream, const vkf__cache_shape *shape, const uint8_t *header)
{
    const uint32_t words[] = {shape->layers, shape->kv_heads, shape->head_dim, shape->vocab, shape->element_bytes, 0};
    bool same = vkf__load_le(header + 16, 8) == shape->model;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        same = same && vkf__load_le(header + 24 + 4 * i, 4) == words[i];
    if (same)
        return VKF_OK;
    return vkf__fail(stream->host, VKF_ERROR_FORMAT,
                     "%s: the cache was saved with another model, or with another precision, quantization or "
                     "cache_dtype",
                     stream->name);
}

static vkf_status read_fixed(vkf__cache_stream *stream, const vkf__cache_shape *shape, uint32_t *out_rows)
{
    uint8_t header[HEADER_BYTES];
    VKF_RETURN_IF_ERROR(vkf__cache_read(stream, header, sizeof header));
    if (memcmp(header, MAGIC, 8) != 0)
        return vkf__fail(stream->host, VKF_ERROR_FORMAT, "%s: is no cache that vkf_session_save() wrote", stream->name);
    const uint32_t version = (uint32_t)vkf__load_le(header + 8, 4);
    if (version != VERSION)
        return vkf__fail(stream->host, VKF_ERROR_FORMAT, "%s: the saved cache has version %" PRIu32 ", expected %u",
                         stream->name, version, VERSION);
    VKF_RETURN_IF_ERROR(check_shape(stream, shape, header));
    *out_rows = (uint32_t)vkf__load_le(header + 12, 4);
    return VKF_OK;
}

static vkf_status read_ids(vkf__cache_stream *stream, const vkf__cache_shape *shape, vkf__cache_row *row)
{
    uint8_t bytes[4];
    for (uint32_t i = 0; i < row->count; i++) {
        VKF_RETURN_IF_ERROR(vkf__cache_read(stream, bytes, sizeof bytes));
        const uint32_t id = (uint32_t)vkf__load_le(bytes, sizeof bytes);
        if (id >= shape->vocab)
            return vkf__fail(stream->host, VKF_ERROR_FORMAT, "%s: the saved cache is damaged; save it again",
                             stream->name);
        row->ids[i] = (int32_t)id;
    }
    return VKF_OK;
}

vkf_status vkf__cache_read_header(vkf__cache_stream *stream, const vkf__cache_shape *shape, uint32_t max_len,
                                  vkf__cache_row *rows, uint32_t max_rows)
{
    uint8_t bytes[8];
    uint32_t count = 0;
    VKF_RETURN_IF_ERROR(read_fixed(stream, shape, &count));
    if (count > max_rows)
        return vkf__fail(vkf__limited(stream->host, "max_batch", count, max_rows), VKF_ERROR_TOO_LARGE,
                         "%s: the cache has %" PRIu32 " rows, there is room for %" PRIu32 " (max_batch)", stream->name,
                         count, max_rows);
    for (uint32_t i = 0; i < max_rows; i++)
        rows[i].begin = rows[i].count = 0;
    for (uint32_t i = 0; i < count; i++) {
        VKF_RETURN_IF_ERROR(vkf__cache_read(stream, bytes, sizeof bytes));
        const uint64_t begin = vkf__load_le(bytes, 4), end = begin + vkf__load_le(bytes + 4, 4);
        if (end > max_len)
            return vkf__fail(vkf__limited(stream->host, "max_target_len", end, max_len), VKF_ERROR_TOO_LARGE,
                             "%s: row %" PRIu32 " of the cache ends at place %" PRIu64 ", there is room for %" PRIu32
                             " (max_target_len)",
                             stream->name, i, end, max_len);
        rows[i].begin = (uint32_t)begin;
        rows[i].count = (uint32_t)(end - begin);
        VKF_RETURN_IF_ERROR(read_ids(stream, shape, &rows[i]));
    }
    return vkf__cache_read_hash(stream);
}

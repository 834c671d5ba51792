// A DECODER's key/value cache as bytes: what vkf_session_save() writes and vkf_session_restore() reads.
//
// All numbers are little-endian. "VKFCACHE"; u32 version, rows; u64 model; u32 layers, kv_heads, head_dim, vocab,
// element_bytes, 0. For each row: u32 begin, count; i32 ids[count]. u64 hash of all before it. For each row and each
// layer: its keys, (count, kv_heads * head_dim), then its values. u64 hash of all before it.
#ifndef VKF_MODEL_CACHE_FILE_H
#define VKF_MODEL_CACHE_FILE_H

#include <vkformer/model.h>

#include "base/host.h"

// Where the bytes go to or come from; one of the two functions is set.
typedef struct vkf__cache_stream {
    const vkf__host *host;
    const char *name; // for messages
    vkf_write_fn write;
    vkf_read_fn read;
    void *user;
    uint64_t hash; // of the bytes so far; begins as VKF_HASH_SEED
} vkf__cache_stream;

// What a cache and the session that it goes into have to have in common.
typedef struct vkf__cache_shape {
    uint64_t model; // vkf_model.fingerprint
    uint32_t layers, kv_heads, head_dim, vocab, element_bytes;
} vkf__cache_shape;

typedef struct vkf__cache_row {
    uint32_t begin, count;
    int32_t *ids; // (count); of a header that is read: has room for max_len
} vkf__cache_row;

// Statuses: FILE (the stream's function returned false).
VKF_MUST_CHECK vkf_status vkf__cache_write(vkf__cache_stream *stream, const void *bytes, size_t size_bytes);
VKF_MUST_CHECK vkf_status vkf__cache_read(vkf__cache_stream *stream, void *out_bytes, size_t size_bytes);
// The hash of what was written or read so far; reading it fails with FORMAT where it is another one.
VKF_MUST_CHECK vkf_status vkf__cache_write_hash(vkf__cache_stream *stream);
VKF_MUST_CHECK vkf_status vkf__cache_read_hash(vkf__cache_stream *stream);

// Everything before the keys of the first row.
VKF_MUST_CHECK vkf_status vkf__cache_write_header(vkf__cache_stream *stream, const vkf__cache_shape *shape,
                                                  const vkf__cache_row *rows, uint32_t count);
// Reads it into `rows`, of which there are max_rows; those beyond the file's become empty. Statuses: FILE; FORMAT (no
// cache, another version, of another model, or damaged); TOO_LARGE (more than max_rows rows with tokens, or a row that
// ends behind max_len).
VKF_MUST_CHECK vkf_status vkf__cache_read_header(vkf__cache_stream *stream, const vkf__cache_shape *shape,
                                                 uint32_t max_len, vkf__cache_row *rows, uint32_t max_rows);

#endif

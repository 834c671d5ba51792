// Headers of saved caches. "#" in front of an input stands for a hash that is right: without it nothing that follows a
// header would be reached. What is read and written again is read as the same.
#include <string.h>

#include "../unit/recording_host.h"
#include "base/hash.h"
#include "fuzz.h"
#include "model/session/cache_file.h"

enum { ROWS = 3, LEN = 8, HASH_BYTES = 8 };

static const vkf__cache_shape shape = {.model = 7, .layers = 1, .kv_heads = 2, .head_dim = 4, .vocab = 16, 4};

#define FIXED "VKFCACHE\1\0\0\0\2\0\0\0\7\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\4\0\0\0\20\0\0\0\4\0\0\0\0\0\0\0"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("#" FIXED "\1\0\0\0\2\0\0\0\5\0\0\0\6\0\0\0\0\0\0\0\0\0\0\0"),
    FUZZ_TEXT("#" FIXED "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
    FUZZ_TEXT("#" FIXED "\7\0\0\0\1\0\0\0\17\0\0\0\0\0\0\0\1\0\0\0\3\0\0\0"),
    FUZZ_TEXT(FIXED "\1\0\0\0\2\0\0\0"),
    FUZZ_TEXT("VKFCACHE\2\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

typedef struct memory {
    uint8_t *bytes;
    size_t size, at;
} memory;

static bool get(void *user, void *out_bytes, size_t size_bytes)
{
    memory *m = user;
    if (size_bytes > m->size - m->at)
        return false;
    memcpy(out_bytes, m->bytes + m->at, size_bytes);
    m->at += size_bytes;
    return true;
}

static bool put(void *user, const void *bytes, size_t size_bytes)
{
    memory *m = user;
    memcpy(m->bytes + m->size, bytes, size_bytes);
    m->size += size_bytes;
    return true;
}

// What was read is written, and has to be the bytes that were read; rows that the file does not have are empty.
static void check_writing(const vkf__host *host, const memory *read, const vkf__cache_row *rows)
{
    uint8_t bytes[1024];
    memory written = {.bytes = bytes};
    vkf__cache_stream stream = {.host = host, .name = "again", .write = put, .user = &written, .hash = VKF_HASH_SEED};
    const uint32_t count = read->bytes[12];
    FUZZ_CHECK(vkf__cache_write_header(&stream, &shape, rows, count) == VKF_OK);
    FUZZ_CHECK(written.size == read->at && memcmp(written.bytes, read->bytes, read->at) == 0);
}

static void check_bytes(memory *m)
{
    recording_host recording;
    int32_t ids[ROWS][LEN];
    vkf__cache_row rows[ROWS];
    recording_host_init(&recording);
    for (uint32_t i = 0; i < ROWS; i++)
        rows[i] = (vkf__cache_row){.ids = ids[i]};
    vkf__cache_stream stream = {.host = &recording.host, .name = "fuzz", .read = get, .user = m, .hash = VKF_HASH_SEED};
    const vkf_status status = vkf__cache_read_header(&stream, &shape, LEN, rows, ROWS);
    FUZZ_CHECK(status == VKF_OK || status == VKF_ERROR_FILE || status == VKF_ERROR_FORMAT ||
               status == VKF_ERROR_TOO_LARGE);
    for (uint32_t i = 0; status == VKF_OK && i < ROWS; i++) {
        FUZZ_CHECK((uint64_t)rows[i].begin + rows[i].count <= LEN);
        for (uint32_t t = 0; t < rows[i].count; t++)
            FUZZ_CHECK(ids[i][t] >= 0 && (uint32_t)ids[i][t] < shape.vocab);
    }
    if (status == VKF_OK)
        check_writing(&recording.host, m, rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    const bool hashed = size_bytes > 0 && data[0] == '#';
    const size_t skipped = hashed ? 1 : 0, size = size_bytes - skipped;
    memory m = {.bytes = malloc(size + HASH_BYTES), .size = hashed ? size + HASH_BYTES : size};
    FUZZ_CHECK(m.bytes);
    if (size > 0)
        memcpy(m.bytes, data + skipped, size);
    const uint64_t hash = vkf__hash(VKF_HASH_SEED, m.bytes, size);
    for (size_t i = 0; i < HASH_BYTES; i++)
        m.bytes[size + i] = (uint8_t)(hash >> 8 * i);
    check_bytes(&m);
    free(m.bytes);
    return 0;
}

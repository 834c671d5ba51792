#include "kernel/shader_table.h"

#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#define DIGITS 8 // hexadecimal, of a word
#define SPIRV_MAGIC UINT32_C(0x07230203)

const vkf__shader *vkf__shader_find(const char *name)
{
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        if (strcmp(vkf__shaders[i].name, name) == 0)
            return &vkf__shaders[i];
    }
    return NULL;
}

static void *zlib_alloc(void *host, unsigned count, unsigned size)
{
    return vkf__alloc(host, count, size);
}

static void zlib_free(void *host, void *memory)
{
    vkf__free(host, memory);
}

// digits: (DIGITS, word_count)
static int inflate_family(const vkf__host *host, const vkf__shader_family *family, uint8_t *digits)
{
    vkf__host own = *host;
    z_stream stream = {
        .zalloc = zlib_alloc,
        .zfree = zlib_free,
        .opaque = &own,
        .next_in = family->gzip,
        .avail_in = family->gzip_bytes,
        .next_out = digits,
        .avail_out = DIGITS * family->word_count,
    };
    int result = inflateInit2(&stream, 16 + MAX_WBITS); // gzip alone, whose checksum zlib then compares
    if (result != Z_OK)
        return result;
    result = inflate(&stream, Z_FINISH);
    if (result == Z_STREAM_END)
        result = stream.avail_out == 0 ? Z_OK : Z_DATA_ERROR;
    else if (result == Z_OK)
        result = Z_BUF_ERROR;
    (void)inflateEnd(&stream);
    return result;
}

static uint32_t digit_value(uint8_t digit)
{
    return (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10) & 0xf;
}

vkf_status vkf__shader_words(const vkf__host *host, const vkf__shader *shader, uint32_t **out_words)
{
    const vkf__shader_family *family = shader->family;
    vkf_status status = VKF_OK;
    uint8_t *digits = NULL; // (DIGITS, family->word_count), the lowest first
    uint32_t *words = NULL;
    VKF_ALLOC(host, words, shader->word_count);
    VKF_ALLOC(host, digits, (size_t)DIGITS * family->word_count);
    int result = inflate_family(host, family, digits);
    if (result == Z_MEM_ERROR) {
        status = vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "kernel %s: no host memory to unpack it", shader->name);
        goto fail;
    }
    for (uint32_t rank = 0; rank < DIGITS && result == Z_OK; rank++) {
        const uint8_t *row = digits + (size_t)rank * family->word_count + shader->first_word;
        for (uint32_t i = 0; i < shader->word_count; i++)
            words[i] |= digit_value(row[i]) << (4 * rank);
    }
    if (result != Z_OK || words[0] != SPIRV_MAGIC) {
        status = vkf__fail(host, VKF_ERROR_FORMAT,
                           "kernel %s: the library's copy of it is damaged (zlib %s: %d); install the library anew",
                           shader->name, zlibVersion(), result);
        goto fail;
    }
    vkf__free(host, digits);
    *out_words = words;
    return VKF_OK;
fail:
    vkf__free(host, digits);
    vkf__free(host, words);
    return status;
}

#include "kernel/shader_table.h"

#include <lzma.h>
#include <string.h>

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

static void *xz_alloc(void *host, size_t count, size_t size)
{
    return vkf__alloc(host, count, size);
}

static void xz_free(void *host, void *memory)
{
    vkf__free(host, memory);
}

// The block's header says how large a dictionary the encoder might have used. Nothing lies further back than the first
// digit: the decoder gets no more than it takes to hold them all.
static void limit_dictionary(lzma_filter *filters, size_t digits_bytes)
{
    uint32_t enough = digits_bytes > LZMA_DICT_SIZE_MIN ? (uint32_t)digits_bytes : LZMA_DICT_SIZE_MIN;
    for (size_t i = 0; filters[i].id != LZMA_VLI_UNKNOWN; i++) {
        lzma_options_lzma *options = filters[i].options;
        if (filters[i].id == LZMA_FILTER_LZMA2 && options->dict_size > enough)
            options->dict_size = enough;
    }
}

// `at` is where the block begins, behind the stream's header. digits: (word_count, DIGITS)
static lzma_ret decode_block(const lzma_allocator *allocator, const vkf__shader_family *family, lzma_check check,
                             size_t at, uint8_t *digits)
{
    lzma_filter filters[LZMA_FILTERS_MAX + 1];
    lzma_block block = {.check = check, .filters = filters};
    size_t used = 0, size = (size_t)DIGITS * family->word_count;
    if (at >= family->xz_bytes || family->xz[at] == 0)
        return LZMA_DATA_ERROR;
    block.header_size = lzma_block_header_size_decode(family->xz[at]);
    if (block.header_size > family->xz_bytes - at)
        return LZMA_DATA_ERROR;
    lzma_ret result = lzma_block_header_decode(&block, allocator, family->xz + at);
    if (result != LZMA_OK)
        return result;
    limit_dictionary(filters, size);
    at += block.header_size;
    result = lzma_block_buffer_decode(&block, allocator, family->xz, &at, family->xz_bytes, digits, &used, size);
    for (size_t i = 0; filters[i].id != LZMA_VLI_UNKNOWN; i++)
        allocator->free(allocator->opaque, filters[i].options);
    if (result == LZMA_OK && (at != family->xz_bytes || used != size))
        result = LZMA_DATA_ERROR;
    return result;
}

static lzma_ret decode_family(const vkf__host *host, const vkf__shader_family *family, uint8_t *digits)
{
    vkf__host own = *host;
    const lzma_allocator allocator = {.alloc = xz_alloc, .free = xz_free, .opaque = &own};
    lzma_stream_flags flags;
    if (family->xz_bytes < LZMA_STREAM_HEADER_SIZE)
        return LZMA_DATA_ERROR;
    lzma_ret result = lzma_stream_header_decode(&flags, family->xz);
    if (result == LZMA_OK && flags.check == LZMA_CHECK_NONE)
        result = LZMA_DATA_ERROR;
    return result == LZMA_OK ? decode_block(&allocator, family, flags.check, LZMA_STREAM_HEADER_SIZE, digits) : result;
}

static uint32_t digit_value(uint8_t digit)
{
    return (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10) & 0xf;
}

vkf_status vkf__shader_words(const vkf__host *host, const vkf__shader *shader, uint32_t **out_words)
{
    const vkf__shader_family *family = shader->family;
    vkf_status status = VKF_OK;
    uint8_t *digits = NULL; // (family->word_count, DIGITS), the highest first
    uint32_t *words = NULL;
    VKF_ALLOC(host, words, shader->word_count);
    VKF_ALLOC(host, digits, (size_t)DIGITS * family->word_count);
    lzma_ret result = decode_family(host, family, digits);
    if (result == LZMA_MEM_ERROR) {
        status = vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "kernel %s: no host memory to unpack it", shader->name);
        goto fail;
    }
    const uint8_t *text = digits + (size_t)DIGITS * shader->first_word;
    for (size_t i = 0; i < (size_t)DIGITS * shader->word_count && result == LZMA_OK; i++)
        words[i / DIGITS] = words[i / DIGITS] << 4 | digit_value(text[i]);
    if (result != LZMA_OK || words[0] != SPIRV_MAGIC) {
        status = vkf__fail(host, VKF_ERROR_FORMAT,
                           "kernel %s: the library's copy of it is damaged (liblzma %s: %d); install the library anew",
                           shader->name, lzma_version_string(), (int)result);
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

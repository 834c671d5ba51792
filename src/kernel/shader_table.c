// Finds embedded modules and unpacks them.
#include "kernel/shader_table.h"

#include <string.h>
#include <zlib.h>

#define SPIRV_MAGIC UINT32_C(0x07230203)

const vkf__shader *vkf__shader_find(const char *name)
{
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        if (strcmp(vkf__shaders[i].name, name) == 0)
            return &vkf__shaders[i];
    }
    return NULL;
}

// `planes` is (4, family->word_count), the lowest bytes of the words first. Each module unpacks its family anew: that
// takes under a millisecond, far less than making the pipeline, and what is not kept needs no lock.
static int unpack_family(const vkf__shader_family *family, uint8_t *planes)
{
    const uLongf size = (uLongf)4 * family->word_count;
    uLongf used = size;
    int result = uncompress(planes, &used, family->packed, family->packed_bytes);
    return result == Z_OK && used != size ? Z_DATA_ERROR : result;
}

static void gather_words(const vkf__shader *shader, const uint8_t *planes, uint32_t *words)
{
    const size_t stride = shader->family->word_count;
    for (size_t k = 0; k < 4; k++) {
        const uint8_t *plane = planes + k * stride + shader->first_word;
        for (size_t i = 0; i < shader->word_count; i++)
            words[i] |= (uint32_t)plane[i] << 8 * k;
    }
}

vkf_status vkf__shader_words(const vkf__host *host, const vkf__shader *shader, uint32_t **out_words)
{
    const vkf__shader_family *family = shader->family;
    vkf_status status = VKF_OK;
    uint8_t *planes = NULL;
    uint32_t *words = NULL;
    VKF_ALLOC(host, words, shader->word_count);
    VKF_ALLOC(host, planes, (size_t)4 * family->word_count);
    int result = unpack_family(family, planes);
    if (result == Z_MEM_ERROR) {
        status = vkf__fail(host, VKF_ERROR_OUT_OF_HOST_MEMORY, "kernel %s: no host memory to unpack it", shader->name);
        goto fail;
    }
    if (result == Z_OK)
        gather_words(shader, planes, words);
    if (result != Z_OK || words[0] != SPIRV_MAGIC) {
        status = vkf__fail(host, VKF_ERROR_FORMAT,
                           "kernel %s: the library's copy of it is damaged (zlib %s: %d); install the library anew",
                           shader->name, zlibVersion(), result);
        goto fail;
    }
    vkf__free(host, planes);
    *out_words = words;
    return VKF_OK;
fail:
    vkf__free(host, planes);
    vkf__free(host, words);
    return status;
}

// Finds embedded modules and unpacks them.
#include "kernel/shader_table.h"

#include <string.h>
#include <zlib.h>

#include "kernel/spirv_coding.h"

#ifdef VKF_KERNELS_LEFT_OUT
const bool vkf__shaders_whole = false;
#else
const bool vkf__shaders_whole = true;
#endif

bool vkf__shader_is_embedded(const char *name)
{
    return vkf__shaders_whole || vkf__shader_find(name) != NULL;
}

const vkf__shader *vkf__shader_find(const char *name)
{
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        if (strcmp(vkf__shaders[i].name, name) == 0)
            return &vkf__shaders[i];
    }
    return NULL;
}

// `planes` is (4, instructions) and (4, operands), the lowest bytes of the words first. Each module unpacks its family
// anew, which takes half a millisecond, and two for the largest: far less than making the pipeline. What is not kept
// needs no lock.
static int unpack_family(const vkf__shader_family *family, uint8_t *planes)
{
    const uLongf size = (uLongf)4 * family->word_count;
    uLongf used = size;
    int result = uncompress(planes, &used, family->packed, family->packed_bytes);
    return result == Z_OK && used != size ? Z_DATA_ERROR : result;
}

static uint32_t word_at(const uint8_t *planes, size_t stride, size_t i)
{
    return planes[i] | (uint32_t)planes[stride + i] << 8 | (uint32_t)planes[2 * stride + i] << 16 |
           (uint32_t)planes[3 * stride + i] << 24;
}

// False when the planes do not hold a module there.
static bool gather_words(const vkf__shader *shader, const uint8_t *planes, uint32_t *words)
{
    const vkf__shader_family *family = shader->family;
    const size_t instructions = family->instruction_count, operands = family->word_count - instructions;
    const uint8_t *operand_planes = planes + 4 * instructions;
    size_t instruction = shader->first_instruction, operand = shader->first_operand, at = 0;
    uint32_t newest = 0;
    if (shader->word_count < VKF_SPIRV_HEADER_WORDS || operand + VKF_SPIRV_HEADER_WORDS > operands)
        return false;
    while (at < VKF_SPIRV_HEADER_WORDS)
        words[at++] = word_at(operand_planes, operands, operand++);
    while (at < shader->word_count && instruction < instructions) {
        words[at] = word_at(planes, instructions, instruction++);
        const size_t end = at + (words[at] >> 16);
        if (end <= at || end > shader->word_count || end - at - 1 > operands - operand)
            return false;
        while (++at < end)
            words[at] = vkf__spirv_decode(&newest, word_at(operand_planes, operands, operand++));
    }
    return at == shader->word_count && words[0] == VKF_SPIRV_MAGIC;
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
    if (result != Z_OK || !gather_words(shader, planes, words)) {
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

// The reader of SPIR-V modules, which anybody's file may be. An input is a kernel of the library and what is changed in
// it: two bytes choose the kernel, then come groups of a position (two bytes) and a word (four bytes) to be written
// there; a position beyond the module cuts it short. What begins with SPIR-V's magic number is a module itself.
#include <string.h>

#include "fuzz.h"
#include "lab/shaders/spirv.h"
#include "support/embedded_words.h"

#define MAX_MODULES 1024
#define MAGIC "\x03\x02\x23\x07"

const fuzz_seed fuzz_seeds[] = {
    FUZZ_TEXT("\0\0"),
    FUZZ_TEXT("\1\0\5\0\1\0\0\0"),
    FUZZ_TEXT("\60\0\20\0\377\377\377\377\40\0\17\0\1\0"),
    FUZZ_TEXT("\22\0\377\377\0\0\0\0"),
    FUZZ_TEXT(MAGIC "\0\0\1\0\0\0\0\0\10\0\0\0\0\0\0\0"
                    "\21\0\2\0\1\0\0\0"
                    "\17\0\5\0\5\0\0\0\1\0\0\0main\0\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static void read_module(const uint32_t *words, size_t count)
{
    spirv_module module;
    const char *why = NULL;
    if (!spirv_read(words, count, &module, &why)) {
        FUZZ_CHECK(why && *why);
        return;
    }
    FUZZ_CHECK(module.capability_count <= SPIRV_MAX && module.binding_count <= SPIRV_MAX &&
               module.spec_count <= SPIRV_MAX);
    FUZZ_CHECK(memchr(module.entry_point, '\0', sizeof module.entry_point));
    for (size_t i = 0; i < module.capability_count; i++)
        FUZZ_CHECK(spirv_has_capability(&module, module.capabilities[i]) &&
                   spirv_capability_name(module.capabilities[i]));
}

static uint32_t number_at(const uint8_t *data, size_t bytes)
{
    uint32_t number = 0;
    for (size_t i = 0; i < bytes; i++)
        number |= (uint32_t)data[i] << 8 * i;
    return number;
}

// Modules are unpacked once. The caller frees the copy.
static uint32_t *copy_of_module(uint32_t index, size_t *out_count)
{
    static uint32_t *modules[MAX_MODULES];
    FUZZ_CHECK(vkf__shader_count <= MAX_MODULES);
    const vkf__shader *shader = &vkf__shaders[index];
    if (!modules[index])
        modules[index] = embedded_words(shader);
    uint32_t *copy = malloc(shader->word_count * sizeof *copy);
    FUZZ_CHECK(modules[index] && copy);
    memcpy(copy, modules[index], shader->word_count * sizeof *copy);
    *out_count = shader->word_count;
    return copy;
}

static void read_changed(const uint8_t *data, size_t size_bytes)
{
    size_t count = 0;
    uint32_t *words = copy_of_module(number_at(data, 2) % vkf__shader_count, &count);
    for (size_t i = 2; i + 6 <= size_bytes; i += 6) {
        uint32_t at = number_at(data + i, 2);
        if (at < count)
            words[at] = number_at(data + i + 2, 4);
        else
            count = count > 0 ? at % count : 0;
    }
    // As long as it is, so that the address sanitizer sees a read beyond the end.
    uint32_t *exact = malloc(count > 0 ? count * sizeof *exact : 1);
    FUZZ_CHECK(exact);
    memcpy(exact, words, count * sizeof *exact);
    free(words);
    read_module(exact, count);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    if (size_bytes >= 4 && memcmp(data, MAGIC, 4) == 0) {
        size_t count = size_bytes / 4;
        uint32_t *words = malloc(count * sizeof *words);
        FUZZ_CHECK(words);
        memcpy(words, data, count * sizeof *words);
        read_module(words, count);
        free(words);
    } else if (size_bytes >= 2) {
        read_changed(data, size_bytes);
    }
    return 0;
}

// The embedded modules: each unpacks to whole SPIR-V, and damaged bytes are a status.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "kernel/shader_table.h"

#include "recording_host.h"

#define SPIRV_MAGIC 0x07230203
#define SPIRV_HEADER_WORDS 5
#define SPIRV_FUNCTION_END ((1u << 16) | 56)

// Instructions, whose first words hold their lengths, fill the module from its header to the end of its last function.
static bool is_whole(const uint32_t *words, uint32_t word_count)
{
    uint32_t at = SPIRV_HEADER_WORDS;
    while (at < word_count && words[at] >> 16 != 0)
        at += words[at] >> 16;
    return words[0] == SPIRV_MAGIC && at == word_count && words[at - 1] == SPIRV_FUNCTION_END;
}

// The build takes the hash from the module's file, in which the lowest byte of a word is the first.
static uint64_t hash_of(const uint32_t *words, uint32_t word_count)
{
    uint64_t hash = VKF_HASH_SEED;
    for (size_t i = 0; i < (size_t)4 * word_count; i++) {
        const uint8_t byte = (uint8_t)(words[i / 4] >> 8 * (i % 4));
        hash = vkf__hash(hash, &byte, 1);
    }
    return hash;
}

static void test_shader_words_every_module_is_whole(void **state)
{
    (void)state;
    assert_true(vkf__shader_count > 0);
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        const vkf__shader *shader = &vkf__shaders[i];
        recording_host recording;
        uint32_t *words = NULL;
        recording_host_init(&recording);
        if (vkf__shader_words(&recording.host, shader, &words) != VKF_OK)
            fail_msg("%s", recording.text);
        if (!is_whole(words, shader->word_count))
            fail_msg("%s is not whole", shader->name);
        if (hash_of(words, shader->word_count) != shader->hash)
            fail_msg("%s is not what the build read", shader->name);
        if (is_whole(words, shader->word_count - 1))
            fail_msg("%s is whole without its last word", shader->name);
        vkf__free(&recording.host, words);
        assert_int_equal(recording.live, 0);
    }
}

static void test_shader_find_gives_each_module_by_its_name(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__shader_count; i++)
        assert_ptr_equal(vkf__shader_find(vkf__shaders[i].name), &vkf__shaders[i]);
    assert_null(vkf__shader_find("gemm_tile"));
    assert_null(vkf__shader_find(""));
}

// Stored results of the tuner count while the hash is the same: modules that differ must not share one.
static void test_shader_hash_differs_between_modules(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        uint32_t *words = NULL, *other = NULL;
        for (uint32_t k = 0; k < i; k++) {
            if (vkf__shaders[i].hash != vkf__shaders[k].hash)
                continue;
            recording_host recording;
            recording_host_init(&recording);
            assert_int_equal(vkf__shaders[i].word_count, vkf__shaders[k].word_count);
            assert_int_equal(vkf__shader_words(&recording.host, &vkf__shaders[i], &words), VKF_OK);
            assert_int_equal(vkf__shader_words(&recording.host, &vkf__shaders[k], &other), VKF_OK);
            assert_memory_equal(words, other, (size_t)4 * vkf__shaders[i].word_count);
            vkf__free(&recording.host, words);
            vkf__free(&recording.host, other);
        }
    }
}

static void test_shader_words_without_memory_is_a_status(void **state)
{
    (void)state;
    recording_host recording;
    uint32_t *words = NULL;
    recording_host_init(&recording);
    assert_int_equal(vkf__shader_words(&recording.host, &vkf__shaders[0], &words), VKF_OK);
    vkf__free(&recording.host, words);
    size_t calls = recording.calls;
    assert_true(calls >= 2);
    for (size_t i = 1; i <= calls; i++) {
        words = NULL;
        recording_host_init(&recording);
        recording.fail_call = i;
        assert_int_equal(vkf__shader_words(&recording.host, &vkf__shaders[0], &words), VKF_ERROR_OUT_OF_HOST_MEMORY);
        assert_null(words);
        assert_int_equal(recording.live, 0);
        assert_int_equal(recording.messages, 1);
    }
}

static void assert_damaged(const vkf__shader *shader, const vkf__shader_family *family)
{
    recording_host recording;
    uint32_t *words = NULL;
    vkf__shader damaged = *shader;
    damaged.family = family;
    recording_host_init(&recording);
    assert_int_equal(vkf__shader_words(&recording.host, &damaged, &words), VKF_ERROR_FORMAT);
    assert_null(words);
    assert_int_equal(recording.live, 0);
    assert_non_null(strstr(recording.text, shader->name));
}

static void test_shader_words_damaged_is_a_status(void **state)
{
    (void)state;
    const vkf__shader *shader = vkf__shader_find("head_mean.f32"); // a small one
    assert_non_null(shader);
    const vkf__shader_family *family = shader->family;
    const uint32_t size = family->packed_bytes;
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    for (uint32_t i = 0; i < size; i++) { // header, content, check
        memcpy(bytes, family->packed, size);
        bytes[i] ^= 0xff; // all bits: the last ones of a stream may fill up its last byte
        assert_damaged(shader, &(vkf__shader_family){bytes, size, family->word_count, family->instruction_count});
    }
    // A copy that ends where the bytes do, so that a sanitizer sees whoever reads on.
    for (uint32_t i = 0; i < size; i++) {
        uint8_t *part = malloc(i > 0 ? i : 1);
        assert_non_null(part);
        memcpy(part, family->packed, i);
        assert_damaged(shader, &(vkf__shader_family){part, i, family->word_count, family->instruction_count});
        free(part);
    }
    memcpy(bytes, family->packed, size);
    assert_damaged(shader, &(vkf__shader_family){bytes, size, family->word_count - 1, family->instruction_count});
    assert_damaged(shader, &(vkf__shader_family){bytes, size, family->word_count + 1, family->instruction_count});
    free(bytes);
}

// Bytes that unpack, and are another module's words or none's.
static void test_shader_words_elsewhere_is_a_status(void **state)
{
    (void)state;
    vkf__shader shader = vkf__shaders[0];
    shader.first_operand++;
    shader.word_count -= 8;
    assert_damaged(&shader, shader.family);
    shader = vkf__shaders[0];
    shader.word_count = SPIRV_HEADER_WORDS + 1; // inside the first instruction
    assert_damaged(&shader, shader.family);
    shader = vkf__shaders[0];
    shader.word_count = SPIRV_HEADER_WORDS - 1;
    assert_damaged(&shader, shader.family);
    shader = vkf__shaders[0];
    shader.first_instruction = shader.family->instruction_count - 1;
    assert_damaged(&shader, shader.family);
    shader = vkf__shaders[0];
    shader.first_operand = shader.family->word_count - shader.family->instruction_count - 1;
    assert_damaged(&shader, shader.family);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shader_words_every_module_is_whole),
        cmocka_unit_test(test_shader_find_gives_each_module_by_its_name),
        cmocka_unit_test(test_shader_hash_differs_between_modules),
        cmocka_unit_test(test_shader_words_without_memory_is_a_status),
        cmocka_unit_test(test_shader_words_damaged_is_a_status),
        cmocka_unit_test(test_shader_words_elsewhere_is_a_status),
    };
    return cmocka_run_group_tests_name("shader table", tests, NULL, NULL);
}

// The reader of SPIR-V modules: interfaces of every kind, and modules that lie.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "embedded_words.h"
#include "kernel/shader_table.h"
#include "lab/shaders/spirv.h"
#include "random.h"

#define WORDS(...) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4
#define OP(op, length) ((uint32_t)(length) << 16 | (uint32_t)(op))
#define HEADER 0x07230203, 0x10300, 0, 40, 0

// A variable, id 20, of a pointer, id 19, to type 10 in a storage class; at set 1, binding 2.
#define BOUND(class) OP(71, 4), 20, 34, 1, OP(71, 4), 20, 33, 2, OP(32, 4), 19, (class), 10, OP(59, 4), 19, 20, (class)
#define IMAGE(id, dim, sampled) OP(25, 9), (id), 1, (dim), 0, 0, 0, (sampled), 0

static spirv_module read_module(const uint32_t *words, size_t count)
{
    spirv_module module;
    const char *why = "";
    if (!spirv_read(words, count, &module, &why))
        fail_msg("refused: %s", why);
    return module;
}

static void assert_kind(const uint32_t *words, size_t count, spirv_binding_kind kind, uint32_t bindings)
{
    const spirv_module module = read_module(words, count);
    assert_int_equal(module.binding_count, 1);
    assert_int_equal(module.bindings[0].set, 1);
    assert_int_equal(module.bindings[0].binding, 2);
    assert_int_equal(module.bindings[0].kind, kind);
    assert_int_equal(module.bindings[0].count, bindings);
}

static void test_spirv_kinds_of_bindings(void **state)
{
    (void)state;
    assert_kind(WORDS(HEADER, OP(26, 2), 10, BOUND(0)), SPIRV_SAMPLER, 1);
    assert_kind(WORDS(HEADER, IMAGE(9, 1, 1), OP(27, 3), 10, 9, BOUND(0)), SPIRV_COMBINED_IMAGE_SAMPLER, 1);
    assert_kind(WORDS(HEADER, IMAGE(10, 1, 1), BOUND(0)), SPIRV_SAMPLED_IMAGE, 1);
    assert_kind(WORDS(HEADER, IMAGE(10, 1, 2), BOUND(0)), SPIRV_STORAGE_IMAGE, 1);
    assert_kind(WORDS(HEADER, IMAGE(10, 5, 1), BOUND(0)), SPIRV_TEXEL_BUFFER, 1);
    assert_kind(WORDS(HEADER, IMAGE(10, 5, 2), BOUND(0)), SPIRV_STORAGE_TEXEL_BUFFER, 1);
    assert_kind(WORDS(HEADER, OP(30, 2), 10, BOUND(2)), SPIRV_UNIFORM_BLOCK, 1);
    assert_kind(WORDS(HEADER, OP(30, 2), 10, BOUND(12)), SPIRV_STORAGE_BUFFER, 1);
    assert_kind(WORDS(HEADER, OP(71, 3), 10, 3, OP(30, 2), 10, BOUND(2)), SPIRV_STORAGE_BUFFER, 1);
    assert_kind(WORDS(HEADER, OP(30, 2), 9, OP(21, 4), 3, 32, 0, OP(43, 4), 3, 4, 6, OP(28, 4), 10, 9, 4, BOUND(12)),
                SPIRV_STORAGE_BUFFER, 6);
}

// Push constants end with their last member: an int, then a matrix of three columns with three rows at offset 16.
static void test_spirv_push_constants(void **state)
{
    (void)state;
    const spirv_module module = read_module(WORDS(HEADER, OP(72, 5), 10, 0, 35, 0, OP(72, 5), 10, 1, 35, 16, OP(22, 3),
                                                  2, 32, OP(21, 4), 3, 32, 0, OP(23, 4), 4, 2, 3, OP(24, 4), 5, 4, 3,
                                                  OP(30, 4), 10, 3, 5, OP(32, 4), 19, 9, 10, OP(59, 4), 19, 20, 9));
    assert_int_equal(module.push_bytes, 16 + 3 * 16);
    assert_int_equal(module.binding_count, 0);
}

static void test_spirv_specialisation_constants(void **state)
{
    (void)state;
    const spirv_module module =
        read_module(WORDS(HEADER, OP(71, 4), 10, 1, 5, OP(71, 4), 11, 1, 6, OP(71, 4), 12, 1, 7, OP(71, 4), 13, 11, 25,
                          OP(20, 2), 2, OP(21, 4), 3, 32, 0, OP(22, 3), 4, 64, OP(49, 3), 2, 10, OP(50, 4), 3, 11, 128,
                          OP(50, 5), 4, 12, 0, 0, OP(51, 6), 9, 13, 11, 11, 11, OP(15, 5), 5, 30, 0x6e69616d, 0));
    assert_int_equal(module.spec_count, 3);
    assert_int_equal(module.specs[0].id, 5);
    assert_int_equal(module.specs[0].type, SPIRV_BOOL);
    assert_int_equal(module.specs[1].type, SPIRV_UINT);
    assert_int_equal(module.specs[2].type, SPIRV_FLOAT);
    assert_int_equal(module.specs[2].bits, 64);
    assert_int_equal(module.local_size[1], 128);
    assert_int_equal(module.local_size_spec[2], 6);
    assert_string_equal(module.entry_point, "main");
}

static void assert_refused(const uint32_t *words, size_t count, const char *expected)
{
    spirv_module module;
    const char *why = "";
    assert_false(spirv_read(words, count, &module, &why));
    if (!strstr(why, expected))
        fail_msg("refused because %s, expected: %s", why, expected);
}

static void test_spirv_what_has_no_layout_is_refused(void **state)
{
    (void)state;
    assert_refused(WORDS(HEADER, OP(30, 2), 9, OP(29, 3), 10, 9, BOUND(12)), "without a fixed length");
    assert_refused(WORDS(HEADER, OP(21, 4), 10, 32, 0, BOUND(0)), "no buffer, image or sampler");
    assert_refused(WORDS(HEADER, OP(30, 2), 10, OP(32, 4), 19, 12, 10, OP(59, 4), 19, 20, 12), "no number");
    assert_refused(WORDS(HEADER, OP(59, 4), 19, 20, 12), "no type");
    assert_refused(WORDS(HEADER, OP(71, 4), 10, 1, 5), "no bool, integer or float");
    assert_refused(WORDS(HEADER, OP(25, 8), 10, 1, 1, 0, 0, 0, 1), "malformed");
    assert_refused(WORDS(HEADER, OP(32, 4), 41, 12, 10), "malformed");
    // A type that is made of itself has no size, and is no way to go round in circles.
    (void)read_module(WORDS(HEADER, OP(30, 4), 10, 10, 10, BOUND(12)));
}

// Any word of any kernel changed, any beginning of it: the reader comes back, with or without an interface.
static void test_spirv_survives_damage(void **state)
{
    (void)state;
    vkf_test_random random;
    vkf_test_random_init(&random, 5);
    for (uint32_t s = 0; s < vkf__shader_count; s += 7) {
        const size_t count = vkf__shaders[s].word_count;
        uint32_t *words = embedded_words(&vkf__shaders[s]);
        assert_non_null(words);
        for (size_t round = 0; round < 64; round++) {
            spirv_module module;
            const char *why = NULL;
            const size_t at = (size_t)(vkf_test_random_u64(&random) % count);
            const uint32_t before = words[at];
            // It has its own size, so that a tool that watches memory sees what is read beyond it.
            const size_t length = round % 2 ? count : at;
            uint32_t *copy = malloc(4 * (length + 1));
            assert_non_null(copy);
            words[at] = round % 3 ? vkf_test_random_below(&random, 64) | (before & 0xffff0000)
                                  : (uint32_t)vkf_test_random_u64(&random);
            memcpy(copy, words, 4 * length);
            if (!spirv_read(copy, length, &module, &why))
                assert_non_null(why);
            free(copy);
            words[at] = before;
        }
        free(words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spirv_kinds_of_bindings),
        cmocka_unit_test(test_spirv_push_constants),
        cmocka_unit_test(test_spirv_specialisation_constants),
        cmocka_unit_test(test_spirv_what_has_no_layout_is_refused),
        cmocka_unit_test(test_spirv_survives_damage),
    };
    return cmocka_run_group_tests_name("spirv", tests, NULL, NULL);
}

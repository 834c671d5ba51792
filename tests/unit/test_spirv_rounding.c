// The rounding mode of 16-bit floats, added to every module of the build: where it has to stand, and nothing else
// changes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/shader_table.h"
#include "kernel/spirv_rounding.h"

enum {
    OP_EXTENSION = 10,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_FLOAT = 22,
    ROUNDING_MODE_RTE_CAPABILITY = 4467,
    ROUNDING_MODE_RTE = 4462,
    HEADER_WORDS = 5,
    MODE_WORDS = 4,
    ADDED_WORDS = 2 + 7 + MODE_WORDS,
};

typedef struct found {
    size_t capability, extension, mode; // where they begin; 0: nowhere
    size_t others;                      // the first instruction that is no capability
    size_t after_entry_point;
    uint32_t entry_point;
    bool halves;
} found;

static found look(const uint32_t *words, size_t count)
{
    found f = {0};
    for (size_t i = HEADER_WORDS; i < count && words[i] >> 16 > 0; i += words[i] >> 16) {
        const uint32_t *at = words + i;
        uint32_t op = *at & 0xffff;
        if (op == OP_CAPABILITY && at[1] == ROUNDING_MODE_RTE_CAPABILITY)
            f.capability = i;
        if (op != OP_CAPABILITY && f.others == 0)
            f.others = i;
        if (op == OP_EXTENSION && strcmp((const char *)(at + 1), "SPV_KHR_float_controls") == 0)
            f.extension = i;
        if (op == OP_ENTRY_POINT) {
            f.after_entry_point = i + (*at >> 16);
            f.entry_point = at[2];
        }
        if (op == OP_EXECUTION_MODE && at[2] == ROUNDING_MODE_RTE && at[3] == 16)
            f.mode = i;
        f.halves = f.halves || (op == OP_TYPE_FLOAT && *at >> 16 == 3 && at[2] == 16);
    }
    return f;
}

// `modes`: how many there should be, of 16 bits and then of 32.
static void assert_rounds(const uint32_t *words, size_t count, const uint32_t *before, size_t modes, const char *name)
{
    const found f = look(words, count);
    if (f.capability == 0 || f.extension == 0 || f.mode == 0)
        fail_msg("%s: capability %zu, extension %zu, mode %zu", name, f.capability, f.extension, f.mode);
    assert_int_equal(f.capability + 2, f.others);
    assert_int_equal(f.extension, f.others);
    assert_int_equal(f.mode, f.after_entry_point);
    assert_int_equal(words[f.mode + 1], f.entry_point);
    for (size_t i = 0; i < MODE_WORDS * (modes - 1); i++)
        assert_int_equal(words[f.mode + MODE_WORDS + i], i == MODE_WORDS - 1 ? 32 : words[f.mode + i]);
    // Without these it is what it was.
    const size_t rest = f.extension + 7;
    assert_memory_equal(words, before, 4 * f.capability);
    assert_memory_equal(words + rest, before + f.capability, 4 * (f.mode - rest));
    const size_t end = f.mode + MODE_WORDS * modes;
    assert_memory_equal(words + end, before + f.capability + f.mode - rest, 4 * (count - end));
}

static void assert_every_module_with_halves_rounds(bool all_widths)
{
    const size_t modes = all_widths ? 2 : 1;
    uint32_t changed = 0, same = 0;
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        const vkf__shader *shader = &vkf__shaders[i];
        uint32_t *before = NULL, *words = NULL;
        size_t bytes = (size_t)4 * shader->word_count;
        assert_int_equal(vkf__shader_words(&host, shader, &before), VKF_OK);
        assert_int_equal(vkf__shader_words(&host, shader, &words), VKF_OK);
        const bool halves = look(before, shader->word_count).halves;
        assert_int_equal(vkf__spirv_round_to_even(&host, all_widths, &words, &bytes), VKF_OK);
        assert_int_equal(bytes / 4, shader->word_count + (halves ? ADDED_WORDS + MODE_WORDS * (modes - 1) : 0));
        if (halves)
            assert_rounds(words, bytes / 4, before, modes, shader->name);
        else
            assert_memory_equal(words, before, bytes);
        changed += halves;
        same += !halves;
        vkf__free(&host, words);
        vkf__free(&host, before);
    }
    assert_true(changed > 50 && same > 50);
}

static void test_every_module_with_halves_rounds_to_even(void **state)
{
    (void)state;
    assert_every_module_with_halves_rounds(false);
}

// Where a device rounds all widths alike, the mode is said of 32-bit floats, too.
static void test_every_module_with_halves_rounds_both_widths(void **state)
{
    (void)state;
    assert_every_module_with_halves_rounds(true);
}

// Modules that end within an instruction, or stand still at one, stay as they are.
static void test_broken_modules_stay(void **state)
{
    (void)state;
    static const uint32_t whole[] = {
        0x07230203, 0x00010300,
        0,          9,
        0,          2 << 16 | OP_CAPABILITY,
        1,          4 << 16 | OP_ENTRY_POINT,
        5,          4,
        0,          3 << 16 | OP_TYPE_FLOAT,
        2,          16,
    };
    enum { COUNT = sizeof whole / sizeof whole[0] };
    vkf__host host;
    assert_int_equal(vkf__host_init(&host, NULL, NULL, NULL, VKF_SEVERITY_ERROR), VKF_OK);
    for (size_t count = 0; count <= COUNT + 1; count++) {
        uint32_t *words = NULL;
        size_t bytes = 4 * (count < COUNT ? count : COUNT);
        assert_int_equal(VKF_ALLOC_STATUS(&host, words, COUNT), VKF_OK);
        memcpy(words, whole, sizeof whole);
        if (count == COUNT + 1)
            words[7] = OP_ENTRY_POINT; // of no words
        assert_int_equal(vkf__spirv_round_to_even(&host, false, &words, &bytes), VKF_OK);
        assert_int_equal(bytes / 4, count == COUNT ? COUNT + ADDED_WORDS : count < COUNT ? count : COUNT);
        vkf__free(&host, words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_module_with_halves_rounds_to_even),
        cmocka_unit_test(test_every_module_with_halves_rounds_both_widths),
        cmocka_unit_test(test_broken_modules_stay),
    };
    return cmocka_run_group_tests_name("spirv_rounding", tests, NULL, NULL);
}

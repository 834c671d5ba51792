// Arrays in shared memory, in every module of the build: no length depends on OpSpecConstantOp Select. A driver of
// Qualcomm's (Adreno 840) gives such arrays wrong places, so that kernels overwrite their own data.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "embedded_words.h"
#include "kernel/shader_table.h"

enum {
    OP_TYPE_ARRAY = 28,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_SPEC_CONSTANT_OP = 52,
    OP_VARIABLE = 59,
    OP_SELECT = 169,
    STORAGE_WORKGROUP = 4,
    HEADER_WORDS = 5,
    MAX_DEPTH = 64,
};

typedef struct module {
    const uint32_t *words;
    size_t count;
} module;

// The instruction whose result is `id`, of the opcodes that shared arrays are declared with; NULL if it is none of
// them.
static const uint32_t *find(const module *m, uint32_t id)
{
    for (size_t i = HEADER_WORDS; i < m->count; i += m->words[i] >> 16) {
        const uint32_t *at = m->words + i;
        uint32_t op = *at & 0xffff, length = *at >> 16;
        if (length == 0)
            return NULL;
        bool is_type = op == OP_TYPE_ARRAY || op == OP_TYPE_STRUCT || op == OP_TYPE_POINTER;
        if ((is_type && at[1] == id) || (op == OP_SPEC_CONSTANT_OP && at[2] == id))
            return at;
    }
    return NULL;
}

// Whether an operand of the constant `id`, or one of theirs, comes from Select.
static bool is_selected(const module *m, uint32_t id, uint32_t depth)
{
    const uint32_t *at = find(m, id);
    if (!at || (*at & 0xffff) != OP_SPEC_CONSTANT_OP || depth == MAX_DEPTH)
        return false;
    if (at[3] == OP_SELECT)
        return true;
    for (uint32_t i = 4; i < *at >> 16; i++) {
        if (is_selected(m, at[i], depth + 1))
            return true;
    }
    return false;
}

static bool has_selected_length(const module *m, uint32_t type, uint32_t depth)
{
    const uint32_t *at = find(m, type);
    uint32_t op = at ? *at & 0xffff : 0;
    if (depth == MAX_DEPTH)
        return false;
    if (op == OP_TYPE_ARRAY)
        return is_selected(m, at[3], 0) || has_selected_length(m, at[2], depth + 1);
    for (uint32_t i = 2; op == OP_TYPE_STRUCT && i < *at >> 16; i++) {
        if (has_selected_length(m, at[i], depth + 1))
            return true;
    }
    return false;
}

// How many arrays of shared memory the module has, and whether one has a selected length.
static bool is_any_selected(const module *m, uint32_t *arrays)
{
    bool any = false;
    for (size_t i = HEADER_WORDS; i < m->count && m->words[i] >> 16 > 0; i += m->words[i] >> 16) {
        const uint32_t *at = m->words + i;
        if ((*at & 0xffff) != OP_VARIABLE || at[3] != STORAGE_WORKGROUP)
            continue;
        const uint32_t *pointer = find(m, at[1]);
        assert_non_null(pointer);
        any = any || has_selected_length(m, pointer[3], 0);
        (*arrays)++;
    }
    return any;
}

static void test_no_length_of_a_shared_array_is_selected(void **state)
{
    (void)state;
    uint32_t arrays = 0;
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        uint32_t *words = embedded_words(&vkf__shaders[i]);
        assert_non_null(words);
        const module m = {words, vkf__shaders[i].word_count};
        if (is_any_selected(&m, &arrays))
            fail_msg("%s: the length of an array in shared memory comes from Select", vkf__shaders[i].name);
        free(words);
    }
    assert_true(arrays > 100);
}

// shared float x[2 * (C != 0 ? 3 : 4)], with `op` in the place of Select.
static bool finds(uint32_t op)
{
    const uint32_t words[] = {
        0x07230203,
        0x00010300,
        0,
        100,
        0, // header
        6 << 16 | OP_SPEC_CONSTANT_OP,
        1,
        10,
        op,
        11,
        12, // %10 = op(%11, %12)
        6 << 16 | OP_SPEC_CONSTANT_OP,
        1,
        13,
        132,
        14,
        10, // %13 = %14 * %10
        4 << 16 | OP_TYPE_ARRAY,
        15,
        2,
        13, // %15 = float[%13]
        4 << 16 | OP_TYPE_POINTER,
        16,
        STORAGE_WORKGROUP,
        15, // %16
        4 << 16 | OP_VARIABLE,
        16,
        17,
        STORAGE_WORKGROUP, // %17
    };
    const module m = {words, sizeof words / sizeof words[0]};
    uint32_t arrays = 0;
    bool found = is_any_selected(&m, &arrays);
    assert_int_equal(arrays, 1);
    return found;
}

static void test_a_planted_length_is_noticed(void **state)
{
    (void)state;
    assert_true(finds(OP_SELECT));
    assert_false(finds(128)); // IAdd
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_length_of_a_shared_array_is_selected),
        cmocka_unit_test(test_a_planted_length_is_noticed),
    };
    return cmocka_run_group_tests_name("shared_arrays", tests, NULL, NULL);
}

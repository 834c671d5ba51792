// Arrays in shared memory, in every module of the build. No length depends on OpSpecConstantOp Select: a driver of
// Qualcomm's (Adreno 840) gives such arrays wrong places, so that kernels overwrite their own data. None depends on a
// part of gl_WorkGroupSize, except beside cooperative matrices: MoltenVK with a SPIRV-Cross of before August 2025 makes
// no pipeline of such a kernel (SPIRV-Cross 2511), and shaders/include/local_size.glsl has the size by a name.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "embedded_words.h"
#include "kernel/shader_table.h"

enum {
    OP_CAPABILITY = 17,
    OP_TYPE_ARRAY = 28,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_SPEC_CONSTANT_OP = 52,
    OP_VARIABLE = 59,
    OP_COMPOSITE_EXTRACT = 81,
    OP_SELECT = 169,
    CAPABILITY_COOPERATIVE_MATRIX = 6022,
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

// Whether an operand of the constant `id`, or one of theirs, comes from `op`.
static bool is_made_by(const module *m, uint32_t op, uint32_t id, uint32_t depth)
{
    const uint32_t *at = find(m, id);
    if (!at || (*at & 0xffff) != OP_SPEC_CONSTANT_OP || depth == MAX_DEPTH)
        return false;
    if (at[3] == op)
        return true;
    for (uint32_t i = 4; i < *at >> 16; i++) {
        if (is_made_by(m, op, at[i], depth + 1))
            return true;
    }
    return false;
}

static bool has_such_length(const module *m, uint32_t op, uint32_t type, uint32_t depth)
{
    const uint32_t *at = find(m, type);
    uint32_t kind = at ? *at & 0xffff : 0;
    if (depth == MAX_DEPTH)
        return false;
    if (kind == OP_TYPE_ARRAY)
        return is_made_by(m, op, at[3], 0) || has_such_length(m, op, at[2], depth + 1);
    for (uint32_t i = 2; kind == OP_TYPE_STRUCT && i < *at >> 16; i++) {
        if (has_such_length(m, op, at[i], depth + 1))
            return true;
    }
    return false;
}

// How many arrays of shared memory the module has, and whether the length of one is made by `op`.
static bool is_any_made_by(const module *m, uint32_t op, uint32_t *arrays)
{
    bool any = false;
    for (size_t i = HEADER_WORDS; i < m->count && m->words[i] >> 16 > 0; i += m->words[i] >> 16) {
        const uint32_t *at = m->words + i;
        if ((*at & 0xffff) != OP_VARIABLE || at[3] != STORAGE_WORKGROUP)
            continue;
        const uint32_t *pointer = find(m, at[1]);
        assert_non_null(pointer);
        any = any || has_such_length(m, op, pointer[3], 0);
        (*arrays)++;
    }
    return any;
}

static bool uses_matrices(const module *m)
{
    for (size_t i = HEADER_WORDS; i < m->count && m->words[i] >> 16 > 0; i += m->words[i] >> 16) {
        if (m->words[i] == (2U << 16 | OP_CAPABILITY) && m->words[i + 1] == CAPABILITY_COOPERATIVE_MATRIX)
            return true;
    }
    return false;
}

static void test_no_length_of_a_shared_array_is_selected(void **state)
{
    (void)state;
    uint32_t arrays = 0;
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        uint32_t *words = embedded_words(&vkf__shaders[i]);
        assert_non_null(words);
        const module m = {words, vkf__shaders[i].word_count};
        if (is_any_made_by(&m, OP_SELECT, &arrays))
            fail_msg("%s: the length of an array in shared memory comes from Select", vkf__shaders[i].name);
        free(words);
    }
    assert_true(arrays > 100);
}

static void test_no_length_of_a_shared_array_is_a_part_of_the_workgroup_size(void **state)
{
    (void)state;
    uint32_t arrays = 0;
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        uint32_t *words = embedded_words(&vkf__shaders[i]);
        assert_non_null(words);
        const module m = {words, vkf__shaders[i].word_count};
        if (!uses_matrices(&m) && is_any_made_by(&m, OP_COMPOSITE_EXTRACT, &arrays))
            fail_msg("%s: the length of an array in shared memory comes from gl_WorkGroupSize, not from LOCAL_SIZE",
                     vkf__shaders[i].name);
        free(words);
    }
    assert_true(arrays > 100);
}

// shared float x[2 * (C != 0 ? 3 : 4)], with `planted` in the place of Select: whether a length by `op` is found.
static bool finds(uint32_t op, uint32_t planted)
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
        planted,
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
    bool found = is_any_made_by(&m, op, &arrays);
    assert_int_equal(arrays, 1);
    return found;
}

static void test_a_planted_length_is_noticed(void **state)
{
    (void)state;
    assert_true(finds(OP_SELECT, OP_SELECT));
    assert_false(finds(OP_SELECT, 128)); // IAdd
    assert_true(finds(OP_COMPOSITE_EXTRACT, OP_COMPOSITE_EXTRACT));
    assert_false(finds(OP_COMPOSITE_EXTRACT, OP_SELECT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_length_of_a_shared_array_is_selected),
        cmocka_unit_test(test_no_length_of_a_shared_array_is_a_part_of_the_workgroup_size),
        cmocka_unit_test(test_a_planted_length_is_noticed),
    };
    return cmocka_run_group_tests_name("shared_arrays", tests, NULL, NULL);
}

// What holds for every module of the build, because drivers go wrong where it does not: workgroups lie along x (an
// Adreno 840 computes wrongly with sizes such as 8x8: ExecuTorch 22327), and modules that use cooperative matrices do
// not read the lane's number from the builtin (ncnn 6972).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "embedded_words.h"
#include "kernel/shader_table.h"

enum {
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_CONSTANT = 43,
    OP_SPEC_CONSTANT_COMPOSITE = 51,
    OP_DECORATE = 71,
    OP_EXECUTION_MODE_ID = 331,
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,
    DECORATION_BUILT_IN = 11,
    BUILT_IN_WORKGROUP_SIZE = 25,
    BUILT_IN_SUBGROUP_LOCAL_INVOCATION_ID = 41,
    CAPABILITY_COOPERATIVE_MATRIX = 6022,
    HEADER_WORDS = 5,
};

typedef struct module {
    const uint32_t *words;
    size_t count;
} module;

// The next instruction of this opcode from *at on, of at least `length` words; NULL at the end.
static const uint32_t *next(const module *m, size_t *at, uint32_t op, uint32_t length)
{
    for (*at = *at < HEADER_WORDS ? HEADER_WORDS : *at; *at < m->count && m->words[*at] >> 16 > 0;) {
        const uint32_t *found = m->words + *at;
        *at += *found >> 16;
        if ((*found & 0xffff) == op && *found >> 16 >= length)
            return found;
    }
    return NULL;
}

static bool is_constant_one(const module *m, uint32_t id)
{
    size_t at = 0;
    for (const uint32_t *c; (c = next(m, &at, OP_CONSTANT, 4)) != NULL;) {
        if (c[2] == id)
            return c[3] == 1;
    }
    return false;
}

// The id that is decorated as a builtin; 0: none.
static uint32_t builtin(const module *m, uint32_t which)
{
    size_t at = 0;
    for (const uint32_t *d; (d = next(m, &at, OP_DECORATE, 4)) != NULL;) {
        if (d[2] == DECORATION_BUILT_IN && d[3] == which)
            return d[1];
    }
    return 0;
}

// Whether y and z of the workgroup's size are 1, wherever the module says it.
static bool lies_along_x(const module *m)
{
    const uint32_t size = builtin(m, BUILT_IN_WORKGROUP_SIZE);
    bool said = false, along = true;
    size_t at = 0;
    for (const uint32_t *c; (c = next(m, &at, OP_SPEC_CONSTANT_COMPOSITE, 6)) != NULL;) {
        if (c[2] != size || size == 0)
            continue;
        said = true;
        along = along && is_constant_one(m, c[4]) && is_constant_one(m, c[5]);
    }
    at = 0;
    for (const uint32_t *e; (e = next(m, &at, OP_EXECUTION_MODE, 6)) != NULL;) {
        said = said || e[2] == MODE_LOCAL_SIZE;
        along = along && (e[2] != MODE_LOCAL_SIZE || (e[4] == 1 && e[5] == 1));
    }
    at = 0;
    for (const uint32_t *e; (e = next(m, &at, OP_EXECUTION_MODE_ID, 6)) != NULL;) {
        said = said || e[2] == MODE_LOCAL_SIZE_ID;
        along = along && (e[2] != MODE_LOCAL_SIZE_ID || (is_constant_one(m, e[4]) && is_constant_one(m, e[5])));
    }
    return said && along;
}

static bool uses_matrices(const module *m)
{
    size_t at = 0;
    for (const uint32_t *c; (c = next(m, &at, OP_CAPABILITY, 2)) != NULL;) {
        if (c[1] == CAPABILITY_COOPERATIVE_MATRIX)
            return true;
    }
    return false;
}

static void test_workgroups_lie_along_x(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        uint32_t *words = embedded_words(&vkf__shaders[i]);
        const module m = {words, vkf__shaders[i].word_count};
        if (!lies_along_x(&m))
            fail_msg("%s: its workgroups do not lie along x", vkf__shaders[i].name);
        free(words);
    }
}

static void test_lanes_of_matrices_are_counted_by_hand(void **state)
{
    uint32_t found = 0;
    (void)state;
    for (uint32_t i = 0; i < vkf__shader_count; i++) {
        uint32_t *words = embedded_words(&vkf__shaders[i]);
        const module m = {words, vkf__shaders[i].word_count};
        found += uses_matrices(&m);
        if (uses_matrices(&m) && builtin(&m, BUILT_IN_SUBGROUP_LOCAL_INVOCATION_ID) != 0)
            fail_msg("%s: it reads gl_SubgroupInvocationID beside matrices", vkf__shaders[i].name);
        free(words);
    }
    assert_true(found > 5);
}

// A module of 64 x `y` x 1 invocations, as old and as new compilers state it, with matrices and the builtin.
static void test_planted_modules_are_noticed(void **state)
{
    (void)state;
    for (uint32_t y = 1; y < 3; y++) {
        // clang-format off
        const uint32_t direct[] = {
            0, 0, 0, 0, 0,
            6 << 16 | OP_EXECUTION_MODE, 1, MODE_LOCAL_SIZE, 64, y, 1,
            2 << 16 | OP_CAPABILITY, CAPABILITY_COOPERATIVE_MATRIX,
            4 << 16 | OP_DECORATE, 9, DECORATION_BUILT_IN, BUILT_IN_SUBGROUP_LOCAL_INVOCATION_ID,
        };
        const uint32_t by_id[] = {
            0, 0, 0, 0, 0,
            4 << 16 | OP_CONSTANT, 2, 7, y,
            4 << 16 | OP_CONSTANT, 2, 8, 1,
            6 << 16 | OP_EXECUTION_MODE_ID, 1, MODE_LOCAL_SIZE_ID, 8, 7, 8,
        };
        // clang-format on
        const module m = {direct, sizeof direct / sizeof direct[0]};
        const module n = {by_id, sizeof by_id / sizeof by_id[0]};
        assert_int_equal(lies_along_x(&m), y == 1);
        assert_int_equal(lies_along_x(&n), y == 1);
        assert_true(uses_matrices(&m) && builtin(&m, BUILT_IN_SUBGROUP_LOCAL_INVOCATION_ID) == 9);
        assert_false(uses_matrices(&n));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_workgroups_lie_along_x),
        cmocka_unit_test(test_lanes_of_matrices_are_counted_by_hand),
        cmocka_unit_test(test_planted_modules_are_noticed),
    };
    return cmocka_run_group_tests_name("module_rules", tests, NULL, NULL);
}

// The registry's names of specialisation constants against the shaders' sources: whoever puts a constant between two
// others, or gives one the id of another, is told. Embedded modules keep no names, so these are read from the GLSL, and
// the ids from the headers that it shares with C.
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "embedded_words.h"
#include "kernel/registry.h"
#include "kernel/shader_table.h"
#include "lab/shaders/spirv.h"
#include "shared/gemm.h"

#define SHADERS VKF_TEST_SOURCE_DIR "/shaders/"
#define MANIFEST VKF_TEST_BINARY_DIR "/shaders/shaders.txt"
#define MAX_IDS 256
#define NO_ID UINT32_MAX
#define WHY_BYTES 256

// VKF_<family>_SPEC_<name> of the shared headers.
typedef struct named_id {
    char name[64];
    char value[80]; // a number, another's name, or (name + number)
} named_id;

typedef struct ids {
    named_id items[MAX_IDS];
    size_t count;
} ids;

static void read_ids(const char *path, ids *inout_ids)
{
    char line[256];
    named_id id;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "#define %63s %79[^/\n]", id.name, id.value) != 2 || !strstr(id.name, "_SPEC_"))
            continue;
        assert_true(inout_ids->count < MAX_IDS);
        inout_ids->items[inout_ids->count++] = id;
    }
    (void)fclose(file);
}

static const ids *shared_ids(void)
{
    static ids all;
    glob_t headers;
    if (all.count > 0)
        return &all;
    assert_int_equal(glob(SHADERS "shared/*.h", 0, NULL, &headers), 0);
    for (size_t i = 0; i < headers.gl_pathc; i++)
        read_ids(headers.gl_pathv[i], &all);
    globfree(&headers);
    return &all;
}

static uint32_t id_of(const char *name)
{
    const ids *all = shared_ids();
    for (size_t i = 0; i < all->count; i++) {
        char base[64];
        unsigned more = 0;
        const char *value = all->items[i].value;
        if (strcmp(all->items[i].name, name) != 0)
            continue;
        if (sscanf(value, "(%63[A-Z0-9_] + %u)", base, &more) == 2 || sscanf(value, "%63[A-Z_]", base) == 1)
            return id_of(base) + more;
        return (uint32_t)strtoul(value, NULL, 10);
    }
    return NO_ID;
}

// The file that a module is compiled from, by the build's list: "module|source|defines|target|file".
static bool source_of(const char *module, char out_source[64])
{
    char line[1024], name[128];
    bool found = false;
    FILE *file = fopen(MANIFEST, "r");
    assert_non_null(file);
    while (!found && fgets(line, sizeof line, file))
        found = sscanf(line, "%127[^|]|%63[^|]|", name, out_source) == 2 && strcmp(name, module) == 0;
    (void)fclose(file);
    return found;
}

// What a source declares, by id.
typedef struct declarations {
    char names[VKF_KERNEL_MAX_SPEC][64];
} declarations;

static bool take_line(const char *line, declarations *inout_names, char *out_why)
{
    char id_name[64], name[64];
    if (sscanf(line, "layout(constant_id = %63[A-Z0-9_]) const uint %63[A-Z0-9_]", id_name, name) != 2)
        return true;
    uint32_t id = id_of(id_name);
    bool good = id < VKF_KERNEL_MAX_SPEC && inout_names->names[id][0] == '\0';
    if (good)
        (void)snprintf(inout_names->names[id], sizeof inout_names->names[id], "%s", name);
    else
        (void)snprintf(out_why, WHY_BYTES, "%s = %u is no id, or there twice", id_name, id);
    return good;
}

static bool read_declarations(const char *source, declarations *out_names, char *out_why)
{
    char path[512], line[256];
    bool good = true;
    (void)snprintf(path, sizeof path, SHADERS "%s", source);
    *out_names = (declarations){0};
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (good && fgets(line, sizeof line, file))
        good = take_line(line, out_names, out_why);
    (void)fclose(file);
    return good;
}

// The name of the constant `id` in a row, as the source of its module has it.
static bool name_agrees(const vkf__kernel *row, const declarations *declared, uint32_t id, char *out_why)
{
    const char *expected = id == VKF_SPEC_LOCAL_SIZE ? "LOCAL_SIZE" : declared->names[id];
    const char *name = id < row->spec_count && row->constants[id] ? row->constants[id] : "none";
    if (strcmp(name, expected) == 0)
        return true;
    (void)snprintf(out_why, WHY_BYTES, "constant %u: the row says %s, the shader %s", id, name, expected);
    return false;
}

static bool names_agree(const vkf__kernel *row, char *out_why)
{
    const vkf__shader *shader = vkf__shader_find(vkf__kernel_module(row));
    char source[64];
    declarations declared;
    spirv_module module;
    const char *why = NULL;
    assert_non_null(shader);
    assert_true(source_of(shader->name, source));
    if (!read_declarations(source, &declared, out_why))
        return false;
    uint32_t *words = embedded_words(shader);
    assert_true(words && spirv_read(words, shader->word_count, &module, &why));
    free(words);
    for (size_t i = 0; i < module.spec_count; i++) {
        if (module.specs[i].id >= VKF_KERNEL_MAX_SPEC || !name_agrees(row, &declared, module.specs[i].id, out_why))
            return false;
    }
    return true;
}

static void test_constants_have_the_names_of_the_shaders(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        char why[WHY_BYTES] = "an id beyond those of any row";
        if (!names_agree(vkf__kernel_at(i), why))
            fail_msg("%s: %s", vkf__kernel_at(i)->name, why);
    }
}

// vkf__variant_spec() puts a device's shape there.
static void test_constants_of_matrices_end_with_the_shape(void **state)
{
    static const char *const shape[] = {"FRAGMENT_M", "FRAGMENT_N", "FRAGMENT_K"};
    uint32_t rows = 0;
    (void)state;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *row = vkf__kernel_at(i);
        for (uint32_t s = 0; s < 3 && row->matrix != VKF_MATRIX_NONE; s++)
            assert_string_equal(row->constants[row->spec_count - 3 + s], shape[s]);
        rows += row->matrix != VKF_MATRIX_NONE;
    }
    assert_true(rows > 0);
}

// Two names that changed places, and a constant that was put before another.
static void test_constants_out_of_place_are_noticed(void **state)
{
    (void)state;
    const vkf__kernel *row = vkf__kernel_at(0);
    const char *names[VKF_GEMM_SPLIT_SPEC_COUNT];
    char why[WHY_BYTES];
    vkf__kernel copy = *row;
    assert_int_equal(row->spec_count, VKF_GEMM_SPLIT_SPEC_COUNT);
    assert_true(names_agree(row, why));
    copy.constants = names;
    memcpy(names, row->constants, sizeof names);
    names[VKF_GEMM_SPEC_ACTIVATION] = row->constants[VKF_GEMM_SPEC_HAS_BIAS];
    names[VKF_GEMM_SPEC_HAS_BIAS] = row->constants[VKF_GEMM_SPEC_ACTIVATION];
    assert_false(names_agree(&copy, why));
    memmove(names + VKF_GEMM_SPEC_ACTIVATION, row->constants + VKF_GEMM_SPEC_B_LAYOUT,
            (VKF_GEMM_SPLIT_SPEC_COUNT - VKF_GEMM_SPEC_ACTIVATION) * sizeof *names);
    assert_false(names_agree(&copy, why));
}

static void test_ids_of_the_shared_headers_are_read(void **state)
{
    (void)state;
    assert_int_equal(id_of("VKF_SPEC_LOCAL_SIZE"), VKF_SPEC_LOCAL_SIZE);
    assert_int_equal(id_of("VKF_GEMM_SPEC_SPLIT"), VKF_GEMM_SPEC_SPLIT);
    assert_int_equal(id_of("VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_M"), id_of("VKF_ATTENTION_SPEC_COUNT"));
    assert_int_equal(id_of("VKF_ATTENTION_COOPMAT_SPEC_FRAGMENT_K"), id_of("VKF_ATTENTION_SPEC_COUNT") + 2);
    assert_int_equal(id_of("VKF_NO_SPEC_AT_ALL"), NO_ID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_have_the_names_of_the_shaders),
        cmocka_unit_test(test_constants_of_matrices_end_with_the_shape),
        cmocka_unit_test(test_constants_out_of_place_are_noticed),
        cmocka_unit_test(test_ids_of_the_shared_headers_are_read),
    };
    return cmocka_run_group_tests_name("registry constants", tests, NULL, NULL);
}

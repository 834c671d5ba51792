// Includes put in place, with files and lines kept.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/glsl_source.h"

#include "recording_host.h"
#include "scratch_directory.h"

static void write_text(scratch_directory *scratch, const char *name, const char *text)
{
    (void)scratch_write(scratch, name, text, strlen(text));
}

static void make_folder(const scratch_directory *scratch, const char *name, char out_path[300])
{
    (void)snprintf(out_path, 300, "%s/%s", scratch->path, name);
    assert_int_equal(vkf__directory_make(out_path, 0700), 0);
}

// The expansion of main.comp; the caller frees it with vkf__free().
static void expand(scratch_directory *scratch, recording_host *recording, const char *preamble, char **out_text)
{
    *out_text = NULL;
    recording_host_init(recording);
    if (vkf__glsl_source(&recording->host, scratch->path, "main.comp", preamble, out_text) != VKF_OK)
        fail_msg("%s", recording->text);
    assert_non_null(*out_text);
}

static void assert_expands(scratch_directory *scratch, const char *preamble, const char *format)
{
    recording_host recording;
    char expected[4096];
    const char *p = scratch->path;
    char *text = NULL;
    expand(scratch, &recording, preamble, &text);
    (void)snprintf(expected, sizeof expected, format, p, p, p, p, p, p);
    assert_string_equal(text, expected);
    vkf__free(&recording.host, text);
    assert_int_equal(recording.live, 0);
}

static void test_source_without_includes(void **state)
{
    scratch_directory *scratch = *state;
    recording_host recording;
    write_text(scratch, "main.comp", "#version 450\nvoid main() {}\n// #include \"no\"\nint x; #include \"no\"\n");
    char *text = NULL;
    expand(scratch, &recording, NULL, &text);
    assert_string_equal(text, "#version 450\nvoid main() {}\n// #include \"no\"\nint x; #include \"no\"\n");
    vkf__free(&recording.host, text);
    assert_int_equal(recording.live, 0);
}

static void test_source_last_line_without_newline(void **state)
{
    recording_host recording;
    write_text(*state, "main.comp", "a\nb");
    char *text = NULL;
    expand(*state, &recording, NULL, &text);
    assert_string_equal(text, "a\nb\n");
    vkf__free(&recording.host, text);
    write_text(*state, "main.comp", "a\r\n\r\nb\r\n");
    expand(*state, &recording, NULL, &text);
    assert_string_equal(text, "a\r\n\r\nb\r\n");
    vkf__free(&recording.host, text);
}

static void test_source_include_keeps_lines(void **state)
{
    write_text(*state, "main.comp", "one\n#include \"inner.glsl\"\nthree\n  #  include \"inner.glsl\" // why\nfive\n");
    write_text(*state, "inner.glsl", "inner 1\ninner 2");
    assert_expands(*state, NULL,
                   "one\n"
                   "#line 1 \"%s/inner.glsl\"\ninner 1\ninner 2\n#line 3 \"%s/main.comp\"\nthree\n"
                   "#line 1 \"%s/inner.glsl\"\ninner 1\ninner 2\n#line 5 \"%s/main.comp\"\nfive\n");
}

static void test_source_include_that_may_be_left_out_keeps_lines(void **state)
{
    write_text(*state, "main.comp",
               "#ifdef A\n#endif\n#ifdef B\n#include \"inner.glsl\"\n # else\nsix\n#endif\neight\n");
    write_text(*state, "inner.glsl", "inner");
    assert_expands(*state, NULL,
                   "#ifdef A\n#endif\n#ifdef B\n"
                   "#line 1 \"%s/inner.glsl\"\ninner\n#line 5 \"%s/main.comp\"\n"
                   " # else\n#line 6 \"%s/main.comp\"\nsix\n"
                   "#endif\n#line 8 \"%s/main.comp\"\neight\n");
}

static void test_source_nested_includes(void **state)
{
    write_text(*state, "main.comp", "#include \"a.glsl\"\nend\n");
    write_text(*state, "a.glsl", "a1\n#include \"b.glsl\"\na3\n");
    write_text(*state, "b.glsl", "b1\n");
    assert_expands(*state, NULL,
                   "#line 1 \"%s/a.glsl\"\na1\n#line 1 \"%s/b.glsl\"\nb1\n#line 3 \"%s/a.glsl\"\na3\n"
                   "#line 2 \"%s/main.comp\"\nend\n");
}

static size_t place_of(const char *text, const char *part)
{
    const char *at = strstr(text, part);
    if (!at)
        fail_msg("\"%s\" is not in the text", part);
    return at ? (size_t)(at - text) : 0;
}

static void test_source_preamble_stands_behind_version(void **state)
{
    recording_host recording;
    write_text(*state, "main.comp", "// a comment\n#version 450\nbody\n");
    char *text = NULL;
    expand(*state, &recording, "#define A 1\n", &text);
    size_t version = place_of(text, "#version 450\n"), define = place_of(text, "#define A 1\n");
    size_t line = place_of(text, "#line 3 "), body = place_of(text, "body\n");
    assert_true(version < define && define < line && line < body);
    assert_null(strstr(text + define + 1, "#define A 1"));
    vkf__free(&recording.host, text);
    assert_int_equal(recording.live, 0);
}

static void test_source_preamble_without_version_comes_first(void **state)
{
    write_text(*state, "main.comp", "body\n");
    assert_expands(*state, "#define A 1\n", "#define A 1\n#line 1 \"%s/main.comp\"\nbody\n");
}

static void test_source_looks_in_include_and_shared(void **state)
{
    scratch_directory *scratch = *state;
    char path[300];
    make_folder(scratch, "include", path);
    make_folder(scratch, "shared", path);
    write_text(scratch, "main.comp", "#include \"deep.glsl\"\n#include \"include/deep.glsl\"\n");
    write_text(scratch, "include/deep.glsl", "deep\n#include \"beside.glsl\"\n#include \"types.h\"\n");
    write_text(scratch, "include/beside.glsl", "beside\n");
    write_text(scratch, "shared/types.h", "types\n");
    recording_host recording;
    char *text = NULL;
    expand(scratch, &recording, NULL, &text);
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, "deep\n")) != NULL; at++)
        found += strstr(at, "beside\n") && strstr(at, "types\n");
    assert_int_equal(found, 2);
    vkf__free(&recording.host, text);
    remove(scratch_path(scratch, "include/deep.glsl"));
    remove(scratch_path(scratch, "include/beside.glsl"));
    remove(scratch_path(scratch, "shared/types.h"));
}

static void assert_fails(scratch_directory *scratch, vkf_status expected, const char *part, const char *part2)
{
    recording_host recording;
    char *text = (char *)scratch;
    recording_host_init(&recording);
    vkf_status status = vkf__glsl_source(&recording.host, scratch->path, "main.comp", NULL, &text);
    if (status != expected || !strstr(recording.text, part) || !strstr(recording.text, part2))
        fail_msg("%s: %s", vkf_status_name(status), recording.text);
    assert_ptr_equal(text, scratch);
    assert_int_equal(recording.live, 0);
}

static void test_source_in_a_folder_of_its_own_finds_what_is_beside_it(void **state)
{
    scratch_directory *scratch = *state;
    char path[300];
    recording_host recording;
    char *text = NULL;
    make_folder(scratch, "include", path);
    make_folder(scratch, "flat", path);
    write_text(scratch, "include/deep.glsl", "deep\n");
    write_text(scratch, "flat/main.comp", "#include \"include/deep.glsl\"\n");
    recording_host_init(&recording);
    assert_int_equal(vkf__glsl_source(&recording.host, path, "main.comp", NULL, &text), VKF_OK);
    assert_non_null(strstr(text, "\ndeep\n"));
    (void)vkf__file_remove(scratch_path(scratch, "include/deep.glsl"));
    (void)vkf__file_remove(scratch_path(scratch, "flat/main.comp"));
    vkf__free(&recording.host, text);
    assert_int_equal(recording.live, 0);
}

static void test_source_missing_files(void **state)
{
    scratch_directory *scratch = *state;
    remove(scratch_path(scratch, "main.comp"));
    assert_fails(scratch, VKF_ERROR_FILE, "main.comp", scratch->path);
    write_text(scratch, "main.comp", "one\ntwo\n#include \"nowhere.glsl\"\n");
    assert_fails(scratch, VKF_ERROR_FILE, "main.comp:3", "nowhere.glsl");
    write_text(scratch, "main.comp", "#include \"outer.glsl\"\n");
    write_text(scratch, "outer.glsl", "\n#include \"nowhere.glsl\"\n");
    assert_fails(scratch, VKF_ERROR_FILE, "outer.glsl:2", "nowhere.glsl");
}

// A part of it must not pass for the whole.
static void test_source_that_is_too_long_is_refused(void **state)
{
    enum { BYTES = 5 << 20 };
    scratch_directory *scratch = *state;
    char *spaces = malloc(BYTES);
    assert_non_null(spaces);
    memset(spaces, ' ', BYTES);
    (void)scratch_write(scratch, "long.glsl", spaces, BYTES);
    free(spaces);
    write_text(scratch, "main.comp", "#include \"long.glsl\"\n");
    assert_fails(scratch, VKF_ERROR_FILE, "long.glsl", "longer than 4194304 bytes");
}

static void test_source_recursion_is_refused(void **state)
{
    scratch_directory *scratch = *state;
    write_text(scratch, "main.comp", "#include \"main.comp\"\n");
    assert_fails(scratch, VKF_ERROR_SHADER, "nested", "main.comp");
    write_text(scratch, "main.comp", "#include \"ping.glsl\"\n");
    write_text(scratch, "ping.glsl", "#include \"pong.glsl\"\n");
    write_text(scratch, "pong.glsl", "#include \"ping.glsl\"\n");
    assert_fails(scratch, VKF_ERROR_SHADER, "nested", ".glsl");
}

// Each file includes the next one twice, so that a few lines would become gigabytes.
static void test_source_of_doubling_includes_is_refused(void **state)
{
    scratch_directory *scratch = *state;
    char name[32], text[2048];
    write_text(scratch, "main.comp", "#include \"0.glsl\"\n");
    for (int i = 0; i < 14; i++) {
        (void)snprintf(name, sizeof name, "%d.glsl", i);
        (void)snprintf(text, sizeof text, "#include \"%d.glsl\"\n#include \"%d.glsl\"\n", i + 1, i + 1);
        write_text(scratch, name, text);
    }
    memset(text, ' ', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    write_text(scratch, "14.glsl", text);
    assert_fails(scratch, VKF_ERROR_SHADER, "16777216 bytes", "includes");
}

static void test_source_with_any_allocation_failing(void **state)
{
    scratch_directory *scratch = *state;
    write_text(scratch, "main.comp", "#version 450\n#include \"a.glsl\"\nend\n");
    write_text(scratch, "a.glsl", "a\n");
    bool failed = true;
    for (size_t call = 1; failed; call++) {
        recording_host recording;
        char *text = NULL;
        recording_host_init(&recording);
        recording.fail_call = call;
        vkf_status status = vkf__glsl_source(&recording.host, scratch->path, "main.comp", "#define A\n", &text);
        failed = recording.calls >= call;
        assert_int_equal(status, failed ? VKF_ERROR_OUT_OF_HOST_MEMORY : VKF_OK);
        assert_int_equal(text != NULL, !failed);
        vkf__free(&recording.host, text);
        assert_int_equal(recording.live, 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_source_without_includes),
        TEST(test_source_last_line_without_newline),
        TEST(test_source_include_keeps_lines),
        TEST(test_source_include_that_may_be_left_out_keeps_lines),
        TEST(test_source_nested_includes),
        TEST(test_source_preamble_stands_behind_version),
        TEST(test_source_preamble_without_version_comes_first),
        TEST(test_source_looks_in_include_and_shared),
        TEST(test_source_in_a_folder_of_its_own_finds_what_is_beside_it),
        TEST(test_source_missing_files),
        TEST(test_source_that_is_too_long_is_refused),
        TEST(test_source_recursion_is_refused),
        TEST(test_source_of_doubling_includes_is_refused),
        TEST(test_source_with_any_allocation_failing),
    };
#undef TEST
    return cmocka_run_group_tests_name("glsl source", tests, NULL, NULL);
}

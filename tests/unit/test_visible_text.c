// What a terminal would obey is shown instead; all other text stays as it is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../tools/program/output/visible_text.c"

static bool terminal;

bool vkf_is_terminal(vkf_standard_stream stream)
{
    return stream == VKF_STANDARD_OUTPUT && terminal;
}

static void assert_shown(const char *text, size_t size_bytes, bool in_line, const char *expected)
{
    char *got = calloc(1, 7 * size_bytes + 1);
    FILE *stream = tmpfile();
    assert_non_null(got);
    assert_non_null(stream);
    assert_true(write_visible(stream, text, size_bytes, in_line));
    rewind(stream);
    (void)fread(got, 1, 7 * size_bytes, stream);
    assert_string_equal(got, expected);
    fclose(stream);
    free(got);
}

static void test_write_visible_shows_what_terminals_obey(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"\x1b[2J", "\\u001b[2J"},
        {"a\rb\bc\x7f", "a\\u000db\\u0008c\\u007f"},
        {"\xc2\x9b\xc2\x80\xc2\x9f\xc2\xa0", "\\u009b\\u0080\\u009f\xc2\xa0"},
        {"a\tb\n", "a\tb\n"},
        {"Str\xc3\xb6me \xf0\x9f\x90\x88 \xe7\x8c\xab", "Str\xc3\xb6me \xf0\x9f\x90\x88 \xe7\x8c\xab"},
        {"\x9b"
         "31m",
         "\\x9b31m"},
        {"\xe2\x9b", "\\xe2\\x9b"},            // cut off
        {"\xe2\x9b\x1b", "\\xe2\\x9b\\u001b"}, // and what follows is looked at
        {"\xc0\x9b", "\\xc0\\x9b"},            // in more bytes than it needs
        {"\\u001b", "\\u001b"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_shown(cases[i].text, strlen(cases[i].text), false, cases[i].expected);
    assert_shown("a\0b", 3, false, "a\\u0000b");
    assert_shown("a\tb\n", 4, true, "a\\u0009b\\u000a");
}

static void test_write_visible_in_pieces(void **state)
{
    (void)state;
    for (size_t bytes = PIECE_BYTES - 6; bytes <= PIECE_BYTES + 6; bytes++) {
        char text[PIECE_BYTES + 16], expected[PIECE_BYTES + 32];
        memset(text, 'a', bytes);
        memcpy(text + bytes, "\x1b\xe7\x8c\xab", 5);
        memset(expected, 'a', bytes);
        strcpy(expected + bytes, "\\u001b\xe7\x8c\xab");
        assert_shown(text, bytes + 4, false, expected);
    }
}

static void test_print_on_of_any_length(void **state)
{
    (void)state;
    char text[3 * USUAL_BYTES], got[4 * USUAL_BYTES] = "";
    memset(text, 'b', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    FILE *stream = tmpfile();
    assert_non_null(stream);
    vkf_print_on(stream, "%s\x1b%d", text, 7);
    rewind(stream);
    (void)fread(got, 1, sizeof got - 1, stream);
    assert_int_equal(strlen(got), sizeof text - 1 + 7);
    assert_string_equal(got + sizeof text - 1, "\\u001b7");
    fclose(stream);
}

static void test_write_visible_says_that_writing_failed(void **state)
{
    (void)state;
    FILE *stream = fopen("/dev/full", "wb");
    if (!stream)
        skip();
    setvbuf(stream, NULL, _IONBF, 0);
    assert_false(vkf_write_visible(stream, "a", 1));
    fclose(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_visible_shows_what_terminals_obey),
        cmocka_unit_test(test_write_visible_in_pieces),
        cmocka_unit_test(test_print_on_of_any_length),
        cmocka_unit_test(test_write_visible_says_that_writing_failed),
    };
    return cmocka_run_group_tests_name("visible text", tests, NULL, NULL);
}

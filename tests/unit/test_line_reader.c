// Lines and whole streams: the end, an error, exhausted memory and what is too long are four outcomes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scratch_directory.h"

static size_t allocation_limit; // of one allocation; 0: none

static void *limited_realloc(void *memory, size_t size_bytes)
{
    return allocation_limit > 0 && size_bytes > allocation_limit ? NULL : realloc(memory, size_bytes);
}

#define realloc limited_realloc
#include "../../tools/program/input/line_reader.c"
#undef realloc

static char last_error[512];

void vkf_print_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
}

static vkf_line_reader open_bytes(scratch_directory *scratch, const char *bytes, size_t size_bytes)
{
    last_error[0] = '\0';
    allocation_limit = 0;
    vkf_line_reader reader = {.name = "NAME", .max_bytes = 1000};
    reader.stream = fopen(scratch_write(scratch, "lines", bytes, size_bytes), "rb");
    assert_non_null(reader.stream);
    return reader;
}

static void close_reader(vkf_line_reader *reader)
{
    fclose(reader->stream);
    vkf_line_reader_free(reader);
}

static void expect_line(vkf_line_reader *reader, const char *expected, size_t size_bytes)
{
    assert_int_equal(vkf_line_next(reader), VKF_LINE_TAKEN);
    assert_int_equal(reader->size_bytes, size_bytes);
    assert_memory_equal(reader->text, expected, size_bytes + 1); // with the zero
}

static void test_line_next_gives_lines_and_their_end(void **state)
{
    static const char bytes[] = "a\r\n\nb\0c\n\r\nlast";
    vkf_line_reader reader = open_bytes(*state, bytes, sizeof bytes - 1);
    expect_line(&reader, "a", 1);
    expect_line(&reader, "", 0);
    expect_line(&reader, "b\0c", 3);
    expect_line(&reader, "", 0);
    assert_int_equal(reader.number, 4);
    expect_line(&reader, "last", 4);
    assert_int_equal(vkf_line_next(&reader), VKF_LINE_END);
    assert_int_equal(vkf_line_next(&reader), VKF_LINE_END);
    assert_string_equal(last_error, "");
    close_reader(&reader);
}

static void test_line_next_by_zeros(void **state)
{
    static const char bytes[] = "a\r\n\0\0b\r";
    vkf_line_reader reader = open_bytes(*state, bytes, sizeof bytes - 1);
    reader.by_zeros = true;
    expect_line(&reader, "a\r\n", 3);
    expect_line(&reader, "", 0);
    expect_line(&reader, "b\r", 2);
    assert_int_equal(vkf_line_next(&reader), VKF_LINE_END);
    close_reader(&reader);
}

static void test_line_next_bounds_a_line(void **state)
{
    static const struct {
        const char *end;
        bool by_zeros;
        size_t end_bytes;
    } ends[] = {{"\n", false, 1}, {"\r\n", false, 2}, {"", false, 0}, {"", true, 1}};
    char bytes[1010], zeros[2000] = "";
    for (size_t i = 0; i < 3 * (sizeof ends / sizeof ends[0]); i++) {
        size_t length = 1000 + i % 3, e = i / 3;
        memset(bytes, 'x', sizeof bytes);
        memcpy(bytes + length, ends[e].end, ends[e].end_bytes);
        vkf_line_reader reader = open_bytes(*state, bytes, length + ends[e].end_bytes);
        reader.by_zeros = ends[e].by_zeros;
        assert_int_equal(vkf_line_next(&reader), length == 1000 ? VKF_LINE_TAKEN : VKF_LINE_FAILED);
        assert_string_equal(last_error, length == 1000 ? "" : "NAME, line 1: it is longer than 1000 bytes");
        assert_true(length == 1000 ? reader.size_bytes == 1000 : reader.malformed);
        close_reader(&reader);
    }
    vkf_line_reader reader = open_bytes(*state, zeros, sizeof zeros);
    reader.text_only = true;
    assert_int_equal(vkf_line_next(&reader), VKF_LINE_FAILED);
    assert_non_null(strstr(last_error, "a byte of zero stands in it"));
    close_reader(&reader);
}

static void test_line_next_says_that_memory_is_exhausted(void **state)
{
    char bytes[900];
    memset(bytes, 'x', sizeof bytes);
    bytes[1] = '\n';
    vkf_line_reader reader = open_bytes(*state, bytes, sizeof bytes);
    allocation_limit = 300;
    assert_int_equal(vkf_line_next(&reader), VKF_LINE_TAKEN);
    assert_int_equal(vkf_line_next(&reader), VKF_LINE_FAILED);
    assert_string_equal(last_error, "NAME, line 2: memory is exhausted");
    assert_false(reader.malformed);
    close_reader(&reader);
}

static void test_line_next_says_that_reading_failed(void **state)
{
#if defined(_WIN32)
    skip(); // there a directory does not open
#endif
    scratch_directory *scratch = *state;
    vkf_line_reader reader = open_bytes(scratch, "", 0);
    fclose(reader.stream);
    reader.stream = fopen(scratch->path, "rb"); // a directory opens, and cannot be read
    assert_non_null(reader.stream);
    assert_int_equal(vkf_line_next(&reader), VKF_LINE_FAILED);
    assert_string_equal(last_error, "NAME cannot be read: Is a directory");
    close_reader(&reader);
}

static void test_read_stream_reads_what_states_no_length(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    allocation_limit = 0;
    FILE *stream = fopen("/proc/version", "rb");
    assert_non_null(stream);
    assert_true(vkf_read_stream(stream, "NAME", 100000, &text, &size));
    assert_true(size > 5 && strncmp(text, "Linux", 5) == 0 && text[size] == '\0');
    fclose(stream);
    free(text);
}

static void test_read_stream_bounds_what_does_not_end(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 77;
    allocation_limit = 0;
    FILE *stream = fopen("/dev/zero", "rb");
    assert_non_null(stream);
    assert_false(vkf_read_stream(stream, "NAME", 100000, &text, &size));
    assert_string_equal(last_error, "NAME: longer than the 100000 bytes that are allowed");
    allocation_limit = 200000;
    assert_false(vkf_read_stream(stream, "NAME", 1000000, &text, &size));
    assert_string_equal(last_error, "NAME: memory is exhausted");
    assert_true(!text && size == 77);
    fclose(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_next_gives_lines_and_their_end),
        cmocka_unit_test(test_line_next_by_zeros),
        cmocka_unit_test(test_line_next_bounds_a_line),
        cmocka_unit_test(test_line_next_says_that_memory_is_exhausted),
        cmocka_unit_test(test_line_next_says_that_reading_failed),
        cmocka_unit_test(test_read_stream_reads_what_states_no_length),
        cmocka_unit_test(test_read_stream_bounds_what_does_not_end),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

// Templates of pages: what stands in the places of names, and what a place takes with it.
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../tools/program/output/template.c"
#include "../../tools/program/output/xml_text.c"

static FILE *stream;

static void write_lines(const void *user)
{
    fprintf(stream, "%s\n%s\n", (const char *)user, (const char *)user);
}

static void write_nothing(const void *user)
{
    (void)user;
}

static void expect(const char *template, const char *expected)
{
    static const vkf_slot slots[] = {
        {"lines", .part = write_lines},
        {"nothing", .part = write_nothing},
        {"file", .file = (const unsigned char *)"{{text}}\n"},
        {"text", .text = "<b>"},
        {"data", .data = "<b>&123", .max_chars = 5},
        {"number", .number = 272},
        {0},
    };
    char *written = NULL;
    size_t size_bytes = 0;
    stream = open_memstream(&written, &size_bytes);
    assert_non_null(stream);
    vkf_template_write(stream, (const unsigned char *)template, slots, "line");
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(written, expected);
    free(written);
}

static void test_template_without_places(void **state)
{
    (void)state;
    expect("", "");
    expect("a { b }\n", "a { b }\n");
}

static void test_template_with_each_kind(void **state)
{
    (void)state;
    expect("{{text}}, {{data}}, {{number}}", "<b>, &lt;b&gt;&amp;\342\200\246, 272");
    expect("-{{file}}-", "-{{text}}\n-");
}

static void test_place_alone_in_its_line_takes_the_end(void **state)
{
    (void)state;
    expect("{{lines}}\nend\n", "line\nline\nend\n");
    expect("begin\n{{nothing}}\n{{nothing}}\nend\n", "begin\nend\n");
    expect("begin {{nothing}}\n{{nothing}} end\n", "begin \n end\n");
}

static void test_unknown_name_is_seen(void **state)
{
    (void)state;
    expect("a {{tex}} b\n{{texts}}\n{{text}}\n", "a {{tex}} b\n{{texts}}\n<b>");
    expect("a {{text", "a {{text");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template_without_places),
        cmocka_unit_test(test_template_with_each_kind),
        cmocka_unit_test(test_place_alone_in_its_line_takes_the_end),
        cmocka_unit_test(test_unknown_name_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

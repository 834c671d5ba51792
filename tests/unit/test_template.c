// Templates of pages: what stands in the places of names, and what a place takes with it.
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

static void each_of_pair(const vkf_template_body *body, const void *user)
{
    (void)user;
    for (int i = 0; i < 2; i++)
        vkf_template_body_write(body, (const vkf_slot[]){{"i", .number = i}, {"text", .text = ""}, {0}}, NULL);
}

static void each_item(const vkf_template_body *body, const void *user)
{
    const char *line = user;
    for (int i = 0; i < 2; i++) {
        const vkf_slot slots[] = {{"i", .number = i}, {"text", .text = line}, {0}};
        vkf_template_body_write(body, slots, NULL);
    }
}

static void expect(const char *template, const char *expected)
{
    static const vkf_slot slots[] = {
        {"lines", .part = write_lines},
        {"nothing", .part = write_nothing},
        {"file", .file = (const unsigned char *)"{{text}}\n"},
        {"text", .text = "<b>"},
        {"data", .data = "<b>&123", .max_chars = 5},
        {"spaces", .data = "a b", .show_spaces = true},
        {"number", .number = 272},
        {"zero", .number = 0},
        {"no text", .text = NULL},
        {"items", .each = each_item},
        {"pairs", .each = each_of_pair},
        {0},
    };
    char written[1000];
    stream = tmpfile();
    assert_non_null(stream);
    vkf_template_write(stream, (const unsigned char *)template, slots, "line");
    rewind(stream);
    written[fread(written, 1, sizeof written - 1, stream)] = '\0';
    assert_int_equal(fclose(stream), 0);
    assert_string_equal(written, expected);
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
    expect("{{spaces}}", "a\302\267b");
}

static void test_numbers_have_formats(void **state)
{
    (void)state;
    expect("{{number:.2f}} {{number:.0f}} {{number:.2g}} {{number:x}} {{zero:.1f}}", "272.00 272 2.7e+02 272 0.0");
}

static void test_conditions(void **state)
{
    (void)state;
    expect("{{#number}}a{{number}}{{/number}}{{^number}}b{{/number}}", "a272");
    expect("{{#zero}}a{{/zero}}{{^zero}}b{{/zero}}", "b");
    expect("{{#no text}}a{{/no text}}{{^no text}}b{{/no text}}", "b");
    expect("{{#text}}{{#zero}}a{{/zero}}{{^zero}}{{data}}{{/zero}}{{/text}}", "&lt;b&gt;&amp;\342\200\246");
}

static void test_items_have_their_own_names_and_those_around(void **state)
{
    (void)state;
    expect("{{#items}}{{i}}{{text}}{{number}} {{/items}}", "0line272 1line272 ");
    expect("{{#items}}{{i}}{{#pairs}}({{i}}{{text}}){{/pairs}}{{/items}}", "0(0)(1)1(0)(1)");
    expect("<ul>\n{{#items}}\n<li>{{i}}{{#zero}}x{{/zero}}</li>\n{{/items}}\n</ul>\n",
           "<ul>\n<li>0</li>\n<li>1</li>\n</ul>\n");
    expect("{{#items}}{{#number}}{{i}}{{/number}}{{/items}}", "01");
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
    expect("{{#texts}}\n{{text}}{{/texts}}", "{{#texts}}\n<b>{{/texts}}");
    expect("{{#text}}a{{/texts}}b", "{{#text}}a{{/texts}}b");
    expect("a{{/text}}b", "a{{/text}}b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_template_without_places),
        cmocka_unit_test(test_template_with_each_kind),
        cmocka_unit_test(test_numbers_have_formats),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_items_have_their_own_names_and_those_around),
        cmocka_unit_test(test_place_alone_in_its_line_takes_the_end),
        cmocka_unit_test(test_unknown_name_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// Rows in every form of --output.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

// The standard output of the files below.
static FILE *rows_output;
#undef stdout
#undef putchar
#define stdout rows_output
#define putchar(c) fputc(c, rows_output)
#define puts(text) fprintf(rows_output, "%s\n", text)
#define printf(...) fprintf(rows_output, __VA_ARGS__)

#include "../../tools/program/output/json_output.c"
#include "../../tools/program/output/rows.c"
#include "../../tools/program/output/visible_text.c"

bool vkf_is_terminal(vkf_standard_stream stream)
{
    (void)stream;
    return false;
}

void vkf_print_error(const char *format, ...)
{
    (void)format;
}

static void price_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    snprintf(out_text, VKF_CELL_BYTES, "%s!", vkf_rows_string(row, "of.price"));
}

static const vkf_column columns[] = {
    {.title = "name", .key = "name", .width = -6},
    {"n", "count", .key = "n", .number = "%.1f", .scale = 10, .width = 5},
    {.title = "hidden", .key = "name", .when = 1},
    {.title = "price", .text = price_cell, .gap = 2},
    {.title = "at", .key = "of.at"},
    {0},
};

// Prints two rows, of which the second has neither number nor place.
static void assert_printed(vkf_rows rows, const char *expected)
{
    char got[1024];
    rows.columns = columns;
    rows_output = tmpfile();
    assert_non_null(rows_output);
    assert_true(vkf_rows_add(
        &rows, json_pack("{s:s, s:f, s:{s:s, s:[i, i]}}", "name", "a|\"b", "n", 0.25, "of", "price", "x", "at", 1, 2)));
    assert_true(vkf_rows_add(&rows, json_pack("{s:s, s:n, s:{s:s}}", "name", "longer\x1b", "n", "of", "price", "")));
    assert_true(vkf_rows_end(&rows));
    rewind(rows_output);
    got[fread(got, 1, sizeof got - 1, rows_output)] = '\0';
    fclose(rows_output);
    assert_string_equal(got, expected);
}

static void test_rows_as_table(void **state)
{
    (void)state;
    assert_printed((vkf_rows){.unknown = "-"}, "name       n  price at\n"
                                               "a|\"b     2.5  x! [1,2]\n"
                                               "longer\\u001b     -  ! -\n");
    assert_printed((vkf_rows){.no_head = true, .gap = 2}, "a|\"b      2.5  x!  [1,2]\nlonger\\u001b         !  \n");
}

// The last cell of a row ends it where it is empty.
static void test_rows_as_fitted_table(void **state)
{
    (void)state;
    assert_printed((vkf_rows){.fitted = true, .unknown = ""}, "name      n  price at\n"
                                                              "a|\"b    2.5  x! [1,2]\n"
                                                              "longer\\u001b      !\n");
}

static void test_rows_as_markdown(void **state)
{
    (void)state;
    assert_printed((vkf_rows){.format = VKF_ROWS_MD, .unknown = "-"}, "| name | count | price | at |\n"
                                                                      "|---|---:|---|---|\n"
                                                                      "| a\\|\"b | 2.5 | x! | [1,2] |\n"
                                                                      "| longer\\u001b | - | ! | - |\n");
}

static void test_rows_as_csv(void **state)
{
    (void)state;
    assert_printed((vkf_rows){.format = VKF_ROWS_CSV, .with = 1}, "name,n,name,price,of.at\n"
                                                                  "\"a|\"\"b\",0.25,\"a|\"\"b\",\"x!\",\"[1,2]\"\n"
                                                                  "\"longer\\u001b\",,\"longer\\u001b\",\"!\",\n");
}

static void test_rows_as_json(void **state)
{
    (void)state;
    assert_printed((vkf_rows){.format = VKF_ROWS_JSON},
                   "[{\"name\":\"a|\\\"b\",\"n\":0.25,\"of\":{\"price\":\"x\",\"at\":[1,2]}},"
                   "{\"name\":\"longer\\u001B\",\"n\":null,\"of\":{\"price\":\"\"}}]\n");
    assert_printed((vkf_rows){.format = VKF_ROWS_JSONL},
                   "{\"name\":\"a|\\\"b\",\"n\":0.25,\"of\":{\"price\":\"x\",\"at\":[1,2]}}\n"
                   "{\"name\":\"longer\\u001B\",\"n\":null,\"of\":{\"price\":\"\"}}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_as_table),    cmocka_unit_test(test_rows_as_fitted_table),
        cmocka_unit_test(test_rows_as_markdown), cmocka_unit_test(test_rows_as_csv),
        cmocka_unit_test(test_rows_as_json),
    };
    return cmocka_run_group_tests_name("rows", tests, NULL, NULL);
}

// Prints rows as a table, JSON, CSV or Markdown.
#include "output/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "output/json_output.h"
#include "output/visible_text.h"

#define MAX_FITTED_WIDTH 80 // a longer cell pushes the rest of its row to the right

bool vkf_rows_are_text(const vkf_rows *rows)
{
    return rows->format == VKF_ROWS_TABLE || rows->format == VKF_ROWS_MD;
}

const json_t *vkf_rows_member(const json_t *row, const char *key)
{
    char object[32];
    const char *dot = strchr(key, '.');
    if (!dot)
        return json_object_get(row, key);
    snprintf(object, sizeof object, "%.*s", (int)(dot - key), key);
    return json_object_get(json_object_get(row, object), dot + 1);
}

const char *vkf_rows_string(const json_t *row, const char *key)
{
    const char *text = json_string_value(vkf_rows_member(row, key));
    return text ? text : "";
}

static unsigned digits_of(const vkf_rows *rows)
{
    return rows->digits > 0 ? rows->digits : 6;
}

static bool is_end(const vkf_column *column)
{
    return !column->title && !column->key;
}

static const vkf_column *next_column(const vkf_rows *rows, const vkf_column *last)
{
    const vkf_column *column = last ? last + 1 : rows->columns;
    while (!is_end(column) && (column->when & ~rows->with) != 0)
        column++;
    return is_end(column) ? NULL : column;
}

// What stands in the cell: the member's own text, or what is written into the buffer.
static const char *cell_of(const vkf_rows *rows, const vkf_column *c, const json_t *row, char buffer[VKF_CELL_BYTES])
{
    const json_t *value = c->key ? vkf_rows_member(row, c->key) : NULL;
    buffer[0] = '\0';
    if (c->text)
        c->text(row, buffer);
    else if (json_is_string(value))
        return json_string_value(value);
    else if (json_is_number(value) && c->number)
        snprintf(buffer, VKF_CELL_BYTES, c->number, json_number_value(value) * (c->scale > 0 ? c->scale : 1));
    else if (json_is_array(value)) {
        const size_t length = json_dumpb(value, buffer, VKF_CELL_BYTES - 1, JSON_COMPACT);
        buffer[length < VKF_CELL_BYTES ? length : 0] = '\0';
    } else
        return rows->unknown ? rows->unknown : "";
    return buffer;
}

// Tables and Markdown ------------------------------------------------------------------------------------------------

static void print_blanks(int count)
{
    if (count > 0)
        vkf_print("%*s", count, "");
}

// A bar would end a cell in Markdown.
void vkf_rows_print_cell(const char *text, vkf_rows_format format)
{
    for (size_t run; format == VKF_ROWS_MD && *text; text += run) {
        run = strcspn(text, "|\\");
        if (run == 0) {
            putchar('\\');
            run = 1;
        }
        vkf_print_name(text, run);
    }
    vkf_print_name(text, strlen(text));
}

static void print_cell(const vkf_rows *rows, const vkf_column *c, const char *text, int width)
{
    const bool md = rows->format == VKF_ROWS_MD, first = c == next_column(rows, NULL);
    const int padding = md ? 0 : abs(width) - (int)strlen(text);
    if (md)
        fputs("| ", stdout);
    else if (!first && (!rows->fitted || width != 0 || *text))
        print_blanks(c->gap > 0 ? c->gap : rows->gap > 0 ? rows->gap : 1);
    print_blanks(width > 0 ? padding : 0);
    vkf_rows_print_cell(text, rows->format);
    print_blanks(md ? 1 : width < 0 ? padding : 0);
}

static void end_line(const vkf_rows *rows)
{
    puts(rows->format == VKF_ROWS_MD ? "|" : "");
}

static void print_head(const vkf_rows *rows, const int *widths)
{
    const bool md = rows->format == VKF_ROWS_MD;
    if (rows->no_head && !md)
        return;
    for (const vkf_column *c = NULL; (c = next_column(rows, c));)
        print_cell(rows, c, md && c->md_title ? c->md_title : c->title, widths ? widths[c - rows->columns] : c->width);
    end_line(rows);
    for (const vkf_column *c = NULL; md && (c = next_column(rows, c));) {
        if (rows->spaced_rule)
            fputs(c->width > 0 ? "| --: " : "| --- ", stdout);
        else
            fputs(c->width > 0 ? "|---:" : "|---", stdout);
    }
    if (md)
        end_line(rows);
}

static void print_text(const vkf_rows *rows, const json_t *row, const int *widths)
{
    char buffer[VKF_CELL_BYTES];
    if (rows->instead && rows->instead(rows, row))
        return;
    for (const vkf_column *c = NULL; (c = next_column(rows, c));)
        print_cell(rows, c, cell_of(rows, c, row, buffer), widths ? widths[c - rows->columns] : c->width);
    end_line(rows);
}

static void print_fitted(const vkf_rows *rows, const json_t *array)
{
    int widths[VKF_ROWS_MAX_COLUMNS] = {0};
    char buffer[VKF_CELL_BYTES];
    const json_t *row;
    size_t i;
    for (const vkf_column *c = NULL; (c = next_column(rows, c));) {
        size_t width = strlen(c->title);
        json_array_foreach(array, i, row)
        {
            const size_t length = strlen(cell_of(rows, c, row, buffer));
            width = length > width && length < MAX_FITTED_WIDTH ? length : width;
        }
        widths[c - rows->columns] = c->width > 0 ? (int)width : c->width < 0 ? -(int)width : 0;
    }
    print_head(rows, widths);
    json_array_foreach(array, i, row) print_text(rows, row, widths);
}

// CSV ----------------------------------------------------------------------------------------------------------------

static void print_quoted(const char *text)
{
    putchar('"');
    for (size_t run; *text; text += run) {
        run = strcspn(text, "\"");
        if (run == 0) {
            fputs("\"\"", stdout);
            run = 1;
        } else {
            (void)vkf_write_visible(stdout, text, run);
        }
    }
    putchar('"');
}

static void print_csv_value(const vkf_rows *rows, const vkf_column *c, const json_t *row)
{
    const json_t *value = c->key ? vkf_rows_member(row, c->key) : NULL;
    char buffer[VKF_CELL_BYTES];
    if (c->text || json_is_string(value) || json_is_array(value))
        print_quoted(cell_of(rows, c, row, buffer));
    else if (json_is_number(value))
        printf("%.*g", (int)digits_of(rows), json_number_value(value));
    else if (json_is_boolean(value))
        vkf_print("%s", json_is_true(value) ? "true" : "false");
}

// A column for each member but lists; what of an object is shown, its column says.
static void print_csv_members(const vkf_rows *rows, const json_t *row, bool head)
{
    const char *key, *between = "";
    json_t *value;
    json_object_foreach((json_t *)row, key, value)
    {
        vkf_column shown = {.key = key};
        for (const vkf_column *c = NULL; json_is_object(value) && (c = next_column(rows, c));)
            shown = c->key && strcmp(c->key, key) == 0 ? *c : shown;
        if (json_is_array(value))
            continue;
        vkf_print("%s%s", between, head ? key : "");
        if (!head)
            print_csv_value(rows, &shown, row);
        between = ",";
    }
    putchar('\n');
}

static void print_csv(const vkf_rows *rows, const json_t *row, bool head)
{
    if (rows->csv_of_members) {
        print_csv_members(rows, row, head);
        return;
    }
    const char *between = "";
    for (const vkf_column *c = NULL; (c = next_column(rows, c)); between = ",") {
        vkf_print("%s%s", between, !head ? "" : c->key ? c->key : c->title);
        if (!head)
            print_csv_value(rows, c, row);
    }
    putchar('\n');
}

// All ----------------------------------------------------------------------------------------------------------------

// Whether rows are printed at the end.
static bool kept(const vkf_rows *rows)
{
    return rows->format == VKF_ROWS_JSON || (rows->format == VKF_ROWS_TABLE && rows->fitted);
}

static void begin(vkf_rows *rows, const json_t *first)
{
    if (!rows->began && !kept(rows) && vkf_rows_are_text(rows))
        print_head(rows, NULL);
    else if (!rows->began && rows->format == VKF_ROWS_CSV)
        print_csv(rows, first, true);
    rows->began = true;
}

void vkf_rows_head(vkf_rows *rows)
{
    begin(rows, NULL);
}

static bool keep(vkf_rows *rows, json_t *row)
{
    if (!rows->array)
        rows->array = json_array();
    if (json_array_append_new(rows->array, row) == 0)
        return true;
    vkf_print_error("memory is exhausted");
    return false;
}

bool vkf_rows_add(vkf_rows *rows, json_t *row)
{
    if (rows->format == VKF_ROWS_JSONL)
        return vkf_print_json_digits(row, digits_of(rows));
    if (kept(rows))
        return keep(rows, row);
    begin(rows, row);
    if (rows->format == VKF_ROWS_CSV)
        print_csv(rows, row, false);
    else
        print_text(rows, row, NULL);
    json_decref(row);
    return true;
}

bool vkf_rows_end(vkf_rows *rows)
{
    json_t *array = rows->array;
    rows->array = NULL;
    if (rows->format == VKF_ROWS_JSON)
        return vkf_print_json_digits(array ? array : json_array(), digits_of(rows));
    if (kept(rows))
        print_fitted(rows, array);
    json_decref(array);
    return true;
}

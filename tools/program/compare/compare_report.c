// Prints a comparison as a table, as Markdown or as JSON.
#include "compare/compare_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "output/json_output.h"
#include "output/visible_text.h"

#define FORMAT_VERSION 1
#define DIGITS 12 // of numbers in JSON, because a cosine matters by how little it is below 1

// The index of the element in each dimension; the last dimension runs fastest.
static void place_of(const vkf__stored_tensor *tensor, uint64_t index, uint64_t out_place[VKF_STORED_MAX_RANK])
{
    for (uint32_t d = tensor->rank; d-- > 0;) {
        out_place[d] = index % tensor->shape[d];
        index /= tensor->shape[d];
    }
}

// ---- as text

enum {
    COLUMN_NAME,
    COLUMN_TYPES,
    COLUMN_SHAPE,
    COLUMN_ELEMENTS,
    COLUMN_WORST,
    COLUMN_PLACE,
    COLUMN_OF_SCALE,
    COLUMN_RMS,
    COLUMN_COSINE,
    COLUMN_BEYOND,
    COLUMN_NOTE,
    COLUMN_COUNT
};

static const struct {
    const char *title;
    bool number;
} columns[COLUMN_COUNT] = {
    {"tensor", false},  {"types", false}, {"shape", false}, {"elements", true}, {"worst", true}, {"at", false},
    {"of scale", true}, {"rms", true},    {"cosine", true}, {"beyond", true},   {"note", false},
};

#define LIST_BYTES (VKF_STORED_MAX_RANK * 21 + 3)
#define NOTE_BYTES 512
#define MAX_WIDTH 80 // of a column

typedef char short_text[24];

typedef struct row_text {
    const char *name;
    char types[16], shape[LIST_BYTES], place[LIST_BYTES], note[NOTE_BYTES];
    short_text elements, worst, of_scale, rms, cosine, beyond;
} row_text;

static void format_list(const uint64_t *numbers, uint32_t count, char out_text[LIST_BYTES])
{
    size_t length = (size_t)snprintf(out_text, LIST_BYTES, "[");
    for (uint32_t i = 0; i < count; i++)
        length += (size_t)snprintf(out_text + length, LIST_BYTES - length, "%s%" PRIu64, i > 0 ? "," : "", numbers[i]);
    snprintf(out_text + length, LIST_BYTES - length, "]");
}

static void format_place(const vkf__stored_tensor *tensor, uint64_t index, char out_text[LIST_BYTES])
{
    uint64_t place[VKF_STORED_MAX_RANK];
    place_of(tensor, index, place);
    format_list(place, tensor->rank, out_text);
}

static void format_others(const vkf_tensor_pair *pair, row_text *row)
{
    const vkf_tensor_error *error = &pair->error;
    const vkf_tensor_range *a = &error->tested, *b = &error->reference;
    char place[LIST_BYTES];
    size_t length = 0;
    if (a->nan_count + b->nan_count > 0)
        length += (size_t)snprintf(row->note, NOTE_BYTES, "%" PRIu64 " NaN against %" PRIu64 "; ", a->nan_count,
                                   b->nan_count);
    if (a->inf_count + b->inf_count > 0)
        length += (size_t)snprintf(row->note + length, NOTE_BYTES - length,
                                   "%" PRIu64 " infinite against %" PRIu64 "; ", a->inf_count, b->inf_count);
    if (error->mismatch_count > 0) {
        format_place(pair->tested, error->mismatch.index, place);
        length += (size_t)snprintf(row->note + length, NOTE_BYTES - length, "%g against %g at %s; ",
                                   error->mismatch.tested, error->mismatch.reference, place);
    }
    if (length > 0)
        row->note[length - 2] = '\0';
}

static void format_error(const vkf_tensor_pair *pair, row_text *row)
{
    const vkf_tensor_error *error = &pair->error;
    snprintf(row->worst, sizeof row->worst, "%.3g", error->worst_error);
    snprintf(row->of_scale, sizeof row->of_scale, "%.3g", error->worst_error / error->scale);
    snprintf(row->rms, sizeof row->rms, "%.3g", vkf_tensor_error_rms(error));
    snprintf(row->cosine, sizeof row->cosine, "%.8f", vkf_tensor_error_cosine(error));
    snprintf(row->beyond, sizeof row->beyond, "%" PRIu64, error->beyond_count);
    if (error->worst_error > 0)
        format_place(pair->tested, error->worst.index, row->place);
    format_others(pair, row);
}

static void format_row(const vkf_tensor_pair *pair, row_text *row)
{
    const vkf__stored_tensor *tested = pair->tested, *reference = pair->reference;
    const vkf__stored_tensor *either = tested ? tested : reference;
    char shape[LIST_BYTES];
    *row = (row_text){.name = vkf_pair_name(pair)};
    bool two_types = tested && reference && tested->type != reference->type;
    snprintf(row->types, sizeof row->types, "%s%s%s", vkf__stored_type_name(either->type), two_types ? "/" : "",
             two_types ? vkf__stored_type_name(reference->type) : "");
    format_list(either->shape, either->rank, row->shape);
    snprintf(row->elements, sizeof row->elements, "%" PRIu64, either->count);
    switch (pair->verdict) {
    case VKF_PAIR_SHAPES:
        format_list(reference->shape, reference->rank, shape);
        snprintf(row->note, sizeof row->note, "shapes differ: %s in B", shape);
        break;
    case VKF_PAIR_TESTED_ONLY:
    case VKF_PAIR_REFERENCE_ONLY:
        snprintf(row->note, sizeof row->note, "only in %c", tested ? 'A' : 'B');
        break;
    default:
        format_error(pair, row);
    }
}

static const char *cell_of(const row_text *row, int column)
{
    const char *cells[COLUMN_COUNT] = {row->name,     row->types, row->shape,  row->elements, row->worst, row->place,
                                       row->of_scale, row->rms,   row->cosine, row->beyond,   row->note};
    return cells[column];
}

// A bar would end a cell in Markdown.
static void print_cell(const char *text, bool markdown)
{
    for (size_t run; markdown && *text; text += run) {
        run = strcspn(text, "|\\");
        if (run == 0) {
            putchar('\\');
            run = 1;
        }
        vkf_print_name(text, run);
    }
    vkf_print_name(text, strlen(text));
}

static void print_table_cell(const char *text, int column, int width)
{
    int padding = width > (int)strlen(text) ? width - (int)strlen(text) : 0;
    bool last = column == COLUMN_NOTE;
    if (column > 0 && (!last || *text))
        fputs("  ", stdout);
    if (columns[column].number)
        vkf_print("%*s", padding, "");
    print_cell(text, false);
    if (last)
        putchar('\n');
    else if (!columns[column].number)
        vkf_print("%*s", padding, "");
}

static void print_table(const vkf_compare_report *report)
{
    int widths[COLUMN_COUNT]; // longer cells push the rest to the right
    row_text row;
    for (int c = 0; c < COLUMN_COUNT; c++)
        widths[c] = (int)strlen(columns[c].title);
    for (size_t i = 0; i < report->count; i++) {
        format_row(&report->pairs[i], &row);
        for (int c = 0; c < COLUMN_COUNT; c++) {
            size_t length = strlen(cell_of(&row, c));
            if (length < MAX_WIDTH && (int)length > widths[c])
                widths[c] = (int)length;
        }
    }
    for (int c = 0; c < COLUMN_COUNT; c++)
        print_table_cell(columns[c].title, c, widths[c]);
    for (size_t i = 0; i < report->count; i++) {
        format_row(&report->pairs[i], &row);
        for (int c = 0; c < COLUMN_COUNT; c++)
            print_table_cell(cell_of(&row, c), c, widths[c]);
    }
}

static void print_markdown(const vkf_compare_report *report)
{
    row_text row;
    for (int c = 0; c < COLUMN_COUNT; c++)
        vkf_print("| %s ", columns[c].title);
    puts("|");
    for (int c = 0; c < COLUMN_COUNT; c++)
        fputs(columns[c].number ? "|---:" : "|---", stdout);
    puts("|");
    for (size_t i = 0; i < report->count; i++) {
        format_row(&report->pairs[i], &row);
        for (int c = 0; c < COLUMN_COUNT; c++) {
            fputs("| ", stdout);
            print_cell(cell_of(&row, c), true);
            putchar(' ');
        }
        puts("|");
    }
}

// The last line is the name of the first tensor that failed.
static void print_text(const vkf_compare_report *report, bool markdown)
{
    const char *line_end = markdown ? "\n\n" : "\n";
    vkf_print("A: %s%sB, the reference: %s%s", report->tested_path, line_end, report->reference_path, line_end);
    vkf_print("tolerance: |a - b| <= %g * scale + %g * |b|, scale being the largest |b| of the tensor%s", report->atol,
              report->rtol, line_end);
    (markdown ? print_markdown : print_table)(report);
    if (markdown)
        putchar('\n');
    vkf_print("%zu of %zu tensors in both files, %zu failed%s", report->compared_count, report->count,
              report->failed_count, line_end);
    if (!report->first_failed) {
        puts("all within tolerance");
        return;
    }
    fputs("first beyond tolerance: ", stdout);
    print_cell(report->first_failed, markdown);
    putchar('\n');
}

// ---- as JSON

static json_t *list_json(const uint64_t *numbers, uint32_t count)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer((json_int_t)numbers[i]));
    return array;
}

// JSON cannot express infinities and NaN.
static json_t *number_json(double value)
{
    if (isfinite(value))
        return json_real(value);
    return json_string(isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

static json_t *side_json(const vkf__stored_tensor *tensor, const vkf_tensor_range *range)
{
    if (!tensor)
        return json_null();
    json_t *object = json_object();
    vkf_json_put_string(object, "type", vkf__stored_type_name(tensor->type));
    json_object_set_new(object, "shape", list_json(tensor->shape, tensor->rank));
    if (range) {
        vkf_json_put_integer(object, "nan", range->nan_count);
        vkf_json_put_integer(object, "inf", range->inf_count);
        json_object_set_new(object, "largest", number_json(range->largest));
    }
    return object;
}

static json_t *element_json(const vkf__stored_tensor *tensor, const vkf_element_pair *element)
{
    uint64_t place[VKF_STORED_MAX_RANK];
    json_t *object = json_object();
    place_of(tensor, element->index, place);
    json_object_set_new(object, "index", list_json(place, tensor->rank));
    json_object_set_new(object, "tested", number_json(element->tested));
    json_object_set_new(object, "reference", number_json(element->reference));
    return object;
}

static void put_error(json_t *object, const vkf_tensor_pair *pair)
{
    const vkf_tensor_error *error = &pair->error;
    vkf_json_put_integer(object, "elements", error->count);
    json_object_set_new(object, "exact", json_boolean(pair->exact));
    json_object_set_new(object, "scale", number_json(error->scale));
    json_object_set_new(object, "worst_error", number_json(error->worst_error));
    json_object_set_new(object, "worst_of_scale", number_json(error->worst_error / error->scale));
    json_object_set_new(object, "worst",
                        error->worst_error > 0 ? element_json(pair->tested, &error->worst) : json_null());
    json_object_set_new(object, "rms_error", number_json(vkf_tensor_error_rms(error)));
    json_object_set_new(object, "cosine", number_json(vkf_tensor_error_cosine(error)));
    vkf_json_put_integer(object, "mismatches", error->mismatch_count);
    json_object_set_new(object, "first_mismatch",
                        error->mismatch_count > 0 ? element_json(pair->tested, &error->mismatch) : json_null());
    vkf_json_put_integer(object, "beyond", error->beyond_count);
}

static json_t *pair_json(const vkf_tensor_pair *pair)
{
    static const char *const verdicts[] = {
        [VKF_PAIR_WITHIN] = "within",
        [VKF_PAIR_BEYOND] = "beyond",
        [VKF_PAIR_SHAPES] = "shapes",
        [VKF_PAIR_TESTED_ONLY] = "tested_only",
        [VKF_PAIR_REFERENCE_ONLY] = "reference_only",
    };
    bool compared = pair->verdict == VKF_PAIR_WITHIN || pair->verdict == VKF_PAIR_BEYOND;
    json_t *object = json_object();
    vkf_json_put_string(object, "name", vkf_pair_name(pair));
    vkf_json_put_string(object, "verdict", verdicts[pair->verdict]);
    json_object_set_new(object, "tested", side_json(pair->tested, compared ? &pair->error.tested : NULL));
    json_object_set_new(object, "reference", side_json(pair->reference, compared ? &pair->error.reference : NULL));
    if (compared)
        put_error(object, pair);
    return object;
}

static json_t *report_json(const vkf_compare_report *report)
{
    json_t *object = json_object(), *tensors = json_array();
    vkf_json_put_integer(object, "version", FORMAT_VERSION);
    vkf_json_put_string(object, "tested", report->tested_path);
    vkf_json_put_string(object, "reference", report->reference_path);
    json_object_set_new(object, "atol", number_json(report->atol));
    json_object_set_new(object, "rtol", number_json(report->rtol));
    vkf_json_put_integer(object, "compared", report->compared_count);
    vkf_json_put_integer(object, "failed", report->failed_count);
    json_object_set_new(object, "first_failed", report->first_failed ? json_string(report->first_failed) : json_null());
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(tensors, pair_json(&report->pairs[i]));
    json_object_set_new(object, "tensors", tensors);
    return object;
}

bool vkf_compare_print(const vkf_compare_report *report, vkf_compare_format format)
{
    bool printed = true;
    switch (format) {
    case VKF_COMPARE_JSON:
        return vkf_print_json_digits(report_json(report), DIGITS);
    case VKF_COMPARE_JSON_LINES:
        for (size_t i = 0; i < report->count && printed; i++)
            printed = vkf_print_json_digits(pair_json(&report->pairs[i]), DIGITS);
        return printed;
    default:
        print_text(report, format == VKF_COMPARE_MARKDOWN);
        return true;
    }
}

// Makes rows of a comparison.
#include "lab/compare/compare_report.h"

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

// What people read beside these figures.

#define LIST_BYTES (VKF_STORED_MAX_RANK * 21 + 3)

static void format_list(const uint64_t *numbers, uint32_t count, char out_text[LIST_BYTES])
{
    size_t length = (size_t)snprintf(out_text, LIST_BYTES, "[");
    for (uint32_t i = 0; i < count; i++)
        length += (size_t)snprintf(out_text + length, LIST_BYTES - length, "%s%" PRIu64, i > 0 ? "," : "", numbers[i]);
    snprintf(out_text + length, LIST_BYTES - length, "]");
}

static void format_others(const vkf_tensor_pair *pair, char out_note[VKF_CELL_BYTES])
{
    const vkf_tensor_error *error = &pair->error;
    const vkf_tensor_range *a = &error->tested, *b = &error->reference;
    uint64_t place[VKF_STORED_MAX_RANK];
    char list[LIST_BYTES];
    size_t length = 0;
    if (a->nan_count + b->nan_count > 0)
        length += (size_t)snprintf(out_note, VKF_CELL_BYTES, "%" PRIu64 " NaN against %" PRIu64 "; ", a->nan_count,
                                   b->nan_count);
    if (a->inf_count + b->inf_count > 0)
        length += (size_t)snprintf(out_note + length, VKF_CELL_BYTES - length,
                                   "%" PRIu64 " infinite against %" PRIu64 "; ", a->inf_count, b->inf_count);
    if (error->mismatch_count > 0) {
        place_of(pair->tested, error->mismatch.index, place);
        format_list(place, pair->tested->rank, list);
        length += (size_t)snprintf(out_note + length, VKF_CELL_BYTES - length, "%g against %g at %s; ",
                                   error->mismatch.tested, error->mismatch.reference, list);
    }
    if (length > 0)
        out_note[length - 2] = '\0';
}

static void put_texts(json_t *object, const vkf_tensor_pair *pair)
{
    const vkf__stored_tensor *tested = pair->tested, *reference = pair->reference;
    const vkf__stored_tensor *either = tested ? tested : reference;
    const bool two_types = tested && reference && tested->type != reference->type;
    char types[16], shape[LIST_BYTES], note[VKF_CELL_BYTES] = "";
    snprintf(types, sizeof types, "%s%s%s", vkf__stored_type_name(either->type), two_types ? "/" : "",
             two_types ? vkf__stored_type_name(reference->type) : "");
    if (pair->verdict == VKF_PAIR_SHAPES) {
        format_list(reference->shape, reference->rank, shape);
        snprintf(note, sizeof note, "shapes differ: %s in B", shape);
    } else if (!tested || !reference) {
        snprintf(note, sizeof note, "only in %c", tested ? 'A' : 'B');
    } else {
        format_others(pair, note);
    }
    vkf_json_put_string(object, "types", types);
    json_object_set_new(object, "shape", list_json(either->shape, either->rank));
    vkf_json_put_integer(object, "elements", either->count);
    vkf_json_put_string(object, "note", note);
}

static json_t *pair_json(const vkf_tensor_pair *pair, bool texts)
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
    if (texts)
        put_texts(object, pair);
    return object;
}

// One object, of which the rows are a member.
static json_t *report_json(const vkf_compare_report *report, json_t *tensors)
{
    json_t *object = json_object();
    vkf_json_put_integer(object, "version", FORMAT_VERSION);
    vkf_json_put_string(object, "tested", report->tested_path);
    vkf_json_put_string(object, "reference", report->reference_path);
    json_object_set_new(object, "atol", number_json(report->atol));
    json_object_set_new(object, "rtol", number_json(report->rtol));
    vkf_json_put_integer(object, "compared", report->compared_count);
    vkf_json_put_integer(object, "failed", report->failed_count);
    json_object_set_new(object, "first_failed", report->first_failed ? json_string(report->first_failed) : json_null());
    json_object_set_new(object, "tensors", tensors ? tensors : json_array());
    return object;
}

static const char *line_end(vkf_rows_format format)
{
    return format == VKF_ROWS_MD ? "\n\n" : "\n";
}

static void print_heading(const vkf_compare_report *report, vkf_rows_format format)
{
    const char *end = line_end(format);
    vkf_print("A: %s%sB, the reference: %s%s", report->tested_path, end, report->reference_path, end);
    vkf_print("tolerance: |a - b| <= %g * scale + %g * |b|, scale being the largest |b| of the tensor%s", report->atol,
              report->rtol, end);
}

// The last line is the name of the first tensor that failed.
static void print_summary(const vkf_compare_report *report, vkf_rows_format format)
{
    vkf_print("%s%zu of %zu tensors in both files, %zu failed%s", format == VKF_ROWS_MD ? "\n" : "",
              report->compared_count, report->count, report->failed_count, line_end(format));
    if (!report->first_failed) {
        puts("all within tolerance");
        return;
    }
    fputs("first beyond tolerance: ", stdout);
    vkf_rows_print_cell(report->first_failed, format);
    putchar('\n');
}

static const vkf_column columns[] = {
    {.title = "tensor", .key = "name", .width = -1},
    {.title = "types", .key = "types", .width = -1},
    {.title = "shape", .key = "shape", .width = -1},
    {.title = "elements", .key = "elements", .number = "%.0f", .width = 1},
    {.title = "worst", .key = "worst_error", .number = "%.3g", .width = 1},
    {.title = "at", .key = "worst.index", .width = -1},
    {.title = "of scale", .key = "worst_of_scale", .number = "%.3g", .width = 1},
    {.title = "rms", .key = "rms_error", .number = "%.3g", .width = 1},
    {.title = "cosine", .key = "cosine", .number = "%.8f", .width = 1},
    {.title = "beyond", .key = "beyond", .number = "%.0f", .width = 1},
    {.title = "note", .key = "note"},
    {0},
};

bool vkf_compare_print(const vkf_compare_report *report, vkf_rows_format format)
{
    vkf_rows rows = {.format = format, .columns = columns, .digits = DIGITS, .gap = 2, .fitted = true};
    const bool texts = format != VKF_ROWS_JSON && format != VKF_ROWS_JSONL;
    bool printed = true;
    if (vkf_rows_are_text(&rows))
        print_heading(report, format);
    vkf_rows_head(&rows);
    for (size_t i = 0; i < report->count && printed; i++)
        printed = vkf_rows_add(&rows, pair_json(&report->pairs[i], texts));
    if (format == VKF_ROWS_JSON && printed)
        return vkf_print_json_digits(report_json(report, rows.array), DIGITS);
    printed = vkf_rows_end(&rows) && printed;
    if (vkf_rows_are_text(&rows))
        print_summary(report, format);
    return printed;
}

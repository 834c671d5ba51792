// Prints results as text, CSV, Markdown or JSON.
#include "bench/bench_report.h"

#include <math.h>
#include <string.h>

#include "command/options.h"
#include "output/json_output.h"
#include "output/standard_output.h"
#include "output/visible_text.h"

bool vkf_bench_format_from_name(const char *name, vkf_bench_format *out_format)
{
    static const char *const names[] = {
        [VKF_BENCH_TABLE] = "table", [VKF_BENCH_JSON] = "json", [VKF_BENCH_JSONL] = "jsonl",
        [VKF_BENCH_CSV] = "csv",     [VKF_BENCH_MD] = "md",
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out_format = (vkf_bench_format)i;
            return true;
        }
    }
    return false;
}

vkf_bench_report vkf_bench_report_begin(vkf_context *context, vkf_bench_format format, bool tokens,
                                        const vkf_measured_roofs *roofs)
{
    vkf_bench_report report = {
        .format = format,
        .tokens = tokens,
        .roofs = roofs,
        .unsettled = roofs && roofs->settled == VKF_SETTLED_NO,
    };
    vkf_context_device_info(context, &report.device);
    snprintf(report.driver, sizeof report.driver, "%s%s%s", report.device.driver_name,
             report.device.driver_info[0] ? ", " : "", report.device.driver_info);
    return report;
}

void vkf_bench_shape_text(const json_t *shape, char *out_text, size_t size_bytes)
{
    char numbers[200] = "", words[100] = "";
    size_t number_length = 0, word_length = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)shape, key, value)
    {
        if (json_is_integer(value) && number_length < sizeof numbers)
            number_length += (size_t)snprintf(numbers + number_length, sizeof numbers - number_length, "%s%lld",
                                              number_length ? "x" : "", (long long)json_integer_value(value));
        else if ((json_is_string(value) || json_is_true(value)) && word_length < sizeof words)
            word_length += (size_t)snprintf(words + word_length, sizeof words - word_length, " %s",
                                            json_is_string(value) ? json_string_value(value) : key);
    }
    snprintf(out_text, size_bytes, "%s%s", numbers, words);
}

void vkf_bench_types_text(const vkf_bench_types *types, char *out_text, size_t size_bytes)
{
    bool mixed = types->activations != types->weights;
    snprintf(out_text, size_bytes, "%s%s%s", vkf_dtype_name(types->activations), mixed ? "/" : "",
             mixed ? vkf_dtype_name(types->weights) : "");
}

// JSON ---------------------------------------------------------------------------------------------------------------

static void put_summary(json_t *object, const char *what, const vkf_summary *summary, bool known)
{
    const struct {
        const char *name;
        double value;
    } members[] = {
        {"min", summary->min}, {"median", summary->median}, {"mean", summary->mean},
        {"max", summary->max}, {"stddev", summary->stddev}, {"iqr", summary->iqr},
    };
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        char key[32];
        snprintf(key, sizeof key, "%s_%s", what, members[i].name);
        vkf_json_put_real(object, key, known ? members[i].value : -1.0);
    }
}

static json_t *object_of(const vkf_bench_report *report, const vkf_bench_row *row)
{
    const vkf_roofs *roofs = report->roofs ? &report->roofs->roofs : NULL;
    json_t *result = json_object();
    vkf_json_put_string(result, "op", row->op);
    json_object_set(result, "shape", (json_t *)row->shape);
    vkf_json_put_string(result, "dtype", vkf_dtype_name(row->types.activations));
    vkf_json_put_string(result, "weights_dtype", vkf_dtype_name(row->types.weights));
    vkf_json_put_string(result, "device", report->device.name);
    vkf_json_put_string(result, "driver", report->driver);
    vkf_json_put_string(result, "variant", row->variant);
    vkf_json_put_integer(result, "repetitions", row->wall_ms.count);
    vkf_json_put_string(result, "timed_by", row->gpu_timed ? "gpu" : "wall");
    json_object_set_new(result, "settled", vkf_settled_json(row->settled));
    put_summary(result, "gpu_ms", &row->gpu_ms, row->gpu_timed);
    put_summary(result, "wall_ms", &row->wall_ms, true);
    vkf_json_put_real(result, "gflops", row->gflops);
    vkf_json_put_real(result, "gbytes_per_s", row->gbytes_per_s);
    vkf_json_put_real(result, "roof", row->roof);
    json_object_set_new(result, "roof_bound", row->bound ? json_string(row->bound) : json_null());
    vkf_json_put_real(result, "roof_gflops", roofs ? roofs->fma_flops_per_s * 1e-9 : -1.0);
    vkf_json_put_real(result, "roof_copy_gbytes_per_s", roofs ? roofs->copy_bytes_per_s * 1e-9 : -1.0);
    vkf_json_put_real(result, "roof_read_gbytes_per_s", roofs ? roofs->read_bytes_per_s * 1e-9 : -1.0);
    json_object_set_new(result, "roof_settled", report->roofs ? vkf_settled_json(report->roofs->settled) : json_null());
    vkf_json_put_integer(result, "device_bytes_peak", row->device_bytes);
    if (report->tokens) {
        vkf_json_put_real(result, "host_us_median", row->host_us);
        vkf_json_put_real(result, "gpu_us_median", row->gpu_timed ? row->gpu_ms.median * 1e3 : -1.0);
        vkf_json_put_real(result, "tokens_per_s", row->tokens_per_s);
    }
    if (row->details)
        json_object_set(result, "dispatches", row->details);
    return result;
}

// Text ---------------------------------------------------------------------------------------------------------------

typedef enum column_kind { COLUMN_OP, COLUMN_SHAPE, COLUMN_TYPES, COLUMN_NUMBER, COLUMN_VARIANT } column_kind;

typedef struct column {
    const char *title;
    column_kind kind;
    int width;
    const char *format; // of a number, for printf
    double value;
} column;

#define MAX_COLUMNS 14

// The columns of a table, with the numbers of a row; `row` is NULL for the titles.
static int columns_of(const vkf_bench_report *report, const vkf_bench_row *row, column out_columns[MAX_COLUMNS])
{
    static const vkf_bench_row none = {0};
    const vkf_bench_row *r = row ? row : &none;
    const double unknown = -1.0;
    int count = 0;
    out_columns[count++] = (column){"work", COLUMN_OP, -9, NULL, 0};
    out_columns[count++] = (column){"shape", COLUMN_SHAPE, -24, NULL, 0};
    out_columns[count++] = (column){"types", COLUMN_TYPES, -8, NULL, 0};
    out_columns[count++] = (column){"gpu ms", COLUMN_NUMBER, 10, "%.4f", r->gpu_timed ? r->gpu_ms.median : unknown};
    out_columns[count++] = (column){"mean", COLUMN_NUMBER, 10, "%.4f", r->gpu_timed ? r->gpu_ms.mean : unknown};
    out_columns[count++] = (column){"min", COLUMN_NUMBER, 10, "%.4f", r->gpu_timed ? r->gpu_ms.min : unknown};
    out_columns[count++] = (column){"iqr", COLUMN_NUMBER, 9, "%.4f", r->gpu_timed ? r->gpu_ms.iqr : unknown};
    out_columns[count++] = (column){"wall ms", COLUMN_NUMBER, 10, "%.4f", r->wall_ms.median};
    if (report->tokens) {
        out_columns[count++] = (column){"host us", COLUMN_NUMBER, 9, "%.1f", r->host_us};
        out_columns[count++] = (column){"tokens/s", COLUMN_NUMBER, 9, "%.1f", r->tokens_per_s};
    }
    out_columns[count++] = (column){"GFLOP/s", COLUMN_NUMBER, 9, "%.4g", r->gflops};
    out_columns[count++] = (column){"GB/s", COLUMN_NUMBER, 8, "%.4g", r->gbytes_per_s};
    out_columns[count++] = (column){"roof", COLUMN_NUMBER, 7, "%.3f", r->roof};
    out_columns[count++] = (column){"kernels", COLUMN_VARIANT, 0, NULL, 0};
    return count;
}

static void cell_text(const vkf_bench_row *row, const column *c, char *out_text, size_t size_bytes)
{
    out_text[0] = '\0';
    switch (c->kind) {
    case COLUMN_OP:
        snprintf(out_text, size_bytes, "%s", row->op);
        break;
    case COLUMN_SHAPE:
        vkf_bench_shape_text(row->shape, out_text, size_bytes);
        break;
    case COLUMN_TYPES:
        vkf_bench_types_text(&row->types, out_text, size_bytes);
        break;
    case COLUMN_VARIANT:
        snprintf(out_text, size_bytes, "%s%s", row->variant, vkf_settled_mark(row->settled));
        break;
    case COLUMN_NUMBER:
        if (isfinite(c->value) && c->value >= 0)
            snprintf(out_text, size_bytes, c->format, c->value);
        else
            snprintf(out_text, size_bytes, "-");
        break;
    }
}

static void print_cell(vkf_bench_format format, bool first, int width, const char *text)
{
    if (format == VKF_BENCH_MD) {
        vkf_print("%s %s |", first ? "|" : "", text);
    } else {
        vkf_print("%s%*s", first ? "" : "  ", width, text);
    }
}

static void print_heading(const vkf_bench_report *report)
{
    const vkf_roofs *roofs = report->roofs ? &report->roofs->roofs : NULL;
    column columns[MAX_COLUMNS];
    int count = columns_of(report, NULL, columns);
    bool md = report->format == VKF_BENCH_MD;
    vkf_print("%s (%s)%s", report->device.name, report->driver, md ? "; " : "\n");
    if (roofs)
        vkf_print("roofs: copy %.4g GB/s, read %.4g GB/s, fma %.4g GFLOP/s%s\n\n", roofs->copy_bytes_per_s * 1e-9,
                  roofs->read_bytes_per_s * 1e-9, roofs->fma_flops_per_s * 1e-9,
                  vkf_settled_mark(report->roofs->settled));
    else
        printf("roofs: not measured\n\n");
    for (int i = 0; i < count; i++)
        print_cell(report->format, i == 0, columns[i].width, columns[i].title);
    putchar('\n');
    for (int i = 0; md && i < count; i++)
        print_cell(report->format, i == 0, 0, columns[i].kind == COLUMN_NUMBER ? "--:" : "---");
    if (md)
        putchar('\n');
}

static void print_details(const json_t *details)
{
    size_t index;
    json_t *dispatch;
    json_array_foreach((json_t *)details, index, dispatch)
    {
        const char *label = json_string_value(json_object_get(dispatch, "label"));
        const char *kernel = json_string_value(json_object_get(dispatch, "kernel"));
        vkf_print("  %-28s %10.4f ms   %s\n", label ? label : "",
                  json_number_value(json_object_get(dispatch, "gpu_ms_min")), kernel ? kernel : "unknown");
    }
}

static void print_row(const vkf_bench_report *report, const vkf_bench_row *row)
{
    column columns[MAX_COLUMNS];
    char text[544];
    int count = columns_of(report, row, columns);
    for (int i = 0; i < count; i++) {
        cell_text(row, &columns[i], text, sizeof text);
        print_cell(report->format, i == 0, columns[i].width, text);
    }
    putchar('\n');
    if (row->details && report->format == VKF_BENCH_TABLE)
        print_details(row->details);
}

// CSV (RFC 4180) -----------------------------------------------------------------------------------------------------

static void print_quoted(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"')
            putchar('"');
        putchar(*text);
    }
    putchar('"');
}

static void print_csv_value(const json_t *value)
{
    char shape[256];
    if (json_is_object(value)) {
        vkf_bench_shape_text(value, shape, sizeof shape);
        print_quoted(shape);
    } else if (json_is_string(value)) {
        print_quoted(json_string_value(value));
    } else if (json_is_number(value)) {
        printf("%.6g", json_number_value(value));
    } else if (json_is_boolean(value)) {
        vkf_print("%s", json_is_true(value) ? "true" : "false");
    }
}

// Prints the members of the JSON object in their order.
static void print_csv(const vkf_bench_report *report, const json_t *object)
{
    const char *key;
    json_t *value;
    if (!report->began) {
        bool first = true;
        json_object_foreach((json_t *)object, key, value)
        {
            vkf_print("%s%s", first ? "" : ",", key);
            first = false;
        }
        putchar('\n');
    }
    bool first = true;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!first)
            putchar(',');
        print_csv_value(value);
        first = false;
    }
    putchar('\n');
}

static bool print_object(vkf_bench_report *report, const vkf_bench_row *row)
{
    vkf_bench_row plain = *row;
    if (report->format == VKF_BENCH_CSV)
        plain.details = NULL;
    json_t *object = object_of(report, &plain);
    if (report->format == VKF_BENCH_JSONL)
        return vkf_print_json(object);
    if (report->format == VKF_BENCH_CSV) {
        print_csv(report, object);
        json_decref(object);
        return true;
    }
    if (!report->array)
        report->array = json_array();
    if (json_array_append_new(report->array, object) == 0)
        return true;
    vkf_print_error("memory is exhausted");
    return false;
}

bool vkf_bench_report_row(vkf_bench_report *report, const vkf_bench_row *row)
{
    bool text = report->format == VKF_BENCH_TABLE || report->format == VKF_BENCH_MD;
    if (text && !report->began)
        print_heading(report);
    bool done = true;
    if (text)
        print_row(report, row);
    else
        done = print_object(report, row);
    report->began = true;
    report->wall_only = report->wall_only || !row->gpu_timed;
    report->unsettled = report->unsettled || row->settled == VKF_SETTLED_NO;
    (void)vkf_flush_stdout();
    return done;
}

bool vkf_bench_report_end(vkf_bench_report *report)
{
    bool done = true;
    bool text = report->format == VKF_BENCH_TABLE || report->format == VKF_BENCH_MD;
    if (report->format == VKF_BENCH_JSON)
        done = vkf_print_json(report->array ? report->array : json_array());
    if (text && report->wall_only)
        printf("\nThe device has no timestamps: rates and roof are of wall times, which include what the host does.\n");
    if (text && report->unsettled)
        printf("\n(not settled): the device was still changing its speed when the warm-up ended; --settle S gives it "
               "longer.\n");
    *report = (vkf_bench_report){0};
    return done;
}

// Prints results as text, CSV, Markdown or JSON.
#include "lab/bench/bench_report.h"

#include <string.h>

#include "output/json_output.h"
#include "output/standard_output.h"
#include "output/visible_text.h"

#define WITH_TOKENS 1u // steps of generation: time of the host, and tokens per second

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

void vkf_bench_types_text(const char *activations, const char *weights, char *out_text, size_t size_bytes)
{
    const bool mixed = strcmp(activations, weights) != 0;
    snprintf(out_text, size_bytes, "%s%s%s", activations, mixed ? "/" : "", mixed ? weights : "");
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
    if (report->rows.with & WITH_TOKENS) {
        vkf_json_put_real(result, "host_us_median", row->host_us);
        vkf_json_put_real(result, "gpu_us_median", row->gpu_timed ? row->gpu_ms.median * 1e3 : -1.0);
        vkf_json_put_real(result, "tokens_per_s", row->tokens_per_s);
    }
    if (row->details)
        json_object_set(result, "dispatches", row->details);
    return result;
}

// Text ---------------------------------------------------------------------------------------------------------------

static void shape_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    vkf_bench_shape_text(json_object_get(row, "shape"), out_text, VKF_CELL_BYTES);
}

static void types_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    vkf_bench_types_text(vkf_rows_string(row, "dtype"), vkf_rows_string(row, "weights_dtype"), out_text,
                         VKF_CELL_BYTES);
}

static void kernels_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    const bool unsettled = json_is_false(json_object_get(row, "settled"));
    snprintf(out_text, VKF_CELL_BYTES, "%s%s", vkf_rows_string(row, "variant"),
             vkf_settled_mark(unsettled ? VKF_SETTLED_NO : VKF_SETTLED_UNKNOWN));
}

static const vkf_column columns[] = {
    {.title = "work", .key = "op", .width = -9},
    {.title = "shape", .key = "shape", .text = shape_cell, .width = -24},
    {.title = "types", .text = types_cell, .width = -8},
    {.title = "gpu ms", .key = "gpu_ms_median", .number = "%.4f", .width = 10},
    {.title = "mean", .key = "gpu_ms_mean", .number = "%.4f", .width = 10},
    {.title = "min", .key = "gpu_ms_min", .number = "%.4f", .width = 10},
    {.title = "iqr", .key = "gpu_ms_iqr", .number = "%.4f", .width = 9},
    {.title = "wall ms", .key = "wall_ms_median", .number = "%.4f", .width = 10},
    {.title = "host us", .key = "host_us_median", .number = "%.1f", .width = 9, .when = WITH_TOKENS},
    {.title = "tokens/s", .key = "tokens_per_s", .number = "%.1f", .width = 9, .when = WITH_TOKENS},
    {.title = "GFLOP/s", .key = "gflops", .number = "%.4g", .width = 9},
    {.title = "GB/s", .key = "gbytes_per_s", .number = "%.4g", .width = 8},
    {.title = "roof", .key = "roof", .number = "%.3f", .width = 7},
    {.title = "kernels", .text = kernels_cell},
    {0},
};

vkf_bench_report vkf_bench_report_begin(vkf_context *context, vkf_rows_format format, bool tokens,
                                        const vkf_measured_roofs *roofs)
{
    vkf_bench_report report = {
        .rows = {.format = format,
                 .columns = columns,
                 .with = tokens ? WITH_TOKENS : 0,
                 .gap = 2,
                 .unknown = "-",
                 .spaced_rule = true,
                 .csv_of_members = true},
        .roofs = roofs,
        .unsettled = roofs && roofs->settled == VKF_SETTLED_NO,
    };
    vkf_context_get_device_info(context, &report.device);
    snprintf(report.driver, sizeof report.driver, "%s%s%s", report.device.driver_name,
             report.device.driver_info[0] ? ", " : "", report.device.driver_info);
    return report;
}

static void print_heading(const vkf_bench_report *report)
{
    const vkf_roofs *roofs = report->roofs ? &report->roofs->roofs : NULL;
    vkf_print("%s (%s)%s", report->device.name, report->driver, report->rows.format == VKF_ROWS_MD ? "; " : "\n");
    if (roofs)
        vkf_print("roofs: copy %.4g GB/s, read %.4g GB/s, fma %.4g GFLOP/s%s\n\n", roofs->copy_bytes_per_s * 1e-9,
                  roofs->read_bytes_per_s * 1e-9, roofs->fma_flops_per_s * 1e-9,
                  vkf_settled_mark(report->roofs->settled));
    else
        printf("roofs: not measured\n\n");
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

bool vkf_bench_report_row(vkf_bench_report *report, const vkf_bench_row *row)
{
    if (vkf_rows_are_text(&report->rows) && !report->rows.began)
        print_heading(report);
    const bool done = vkf_rows_add(&report->rows, object_of(report, row));
    if (row->details && report->rows.format == VKF_ROWS_TABLE)
        print_details(row->details);
    report->wall_only = report->wall_only || !row->gpu_timed;
    report->unsettled = report->unsettled || row->settled == VKF_SETTLED_NO;
    (void)vkf_flush_stdout();
    return done;
}

bool vkf_bench_report_end(vkf_bench_report *report)
{
    const bool done = vkf_rows_end(&report->rows), text = vkf_rows_are_text(&report->rows);
    if (text && report->wall_only)
        printf("\nThe device has no timestamps: rates and roof are of wall times, which include what the host does.\n");
    if (text && report->unsettled)
        printf("\n(not settled): the device was still changing its speed when the warm-up ended; --settle S gives it "
               "longer.\n");
    *report = (vkf_bench_report){0};
    return done;
}

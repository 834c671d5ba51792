// Makes rows of reports of kernels.
#include "lab/shaders/shader_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command/options.h"
#include "lab/shaders/loop_output.h"
#include "output/json_output.h"
#include "output/visible_text.h"

#define WITH_STATISTICS 1u

#define MAX_EXACT 9007199254740992.0 // 2^53

// ---- as rows

static void compiled_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    const bool compiled = json_is_true(json_object_get(row, "compiled"));
    const bool usable = json_is_true(json_object_get(row, "usable"));
    snprintf(out_text, VKF_CELL_BYTES, "%s", compiled ? "yes" : usable ? "FAILED" : "no");
}

static void spills_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    const json_t *spills = vkf_rows_member(row, "statistics.spills");
    const json_int_t inner = json_integer_value(vkf_rows_member(row, "statistics.inner_spills"));
    if (!json_is_integer(spills))
        snprintf(out_text, VKF_CELL_BYTES, "-");
    else if (inner <= 0)
        snprintf(out_text, VKF_CELL_BYTES, "%lld", json_integer_value(spills));
    else
        snprintf(out_text, VKF_CELL_BYTES, "%lld+%lld", json_integer_value(spills), inner);
}

static void default_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    const bool usable = json_is_true(json_object_get(row, "usable"));
    snprintf(out_text, VKF_CELL_BYTES, "%s%s",
             usable ? "" : "not usable: ", vkf_rows_string(row, usable ? "default_for" : "why"));
}

#define STATISTIC(title, md_title, name, columns)                                                                 \
    {                                                                                                             \
        title, md_title, .key = "statistics." name, .number = "%.0f", .width = (columns), .when = WITH_STATISTICS \
    }

static const vkf_column columns[] = {
    {.title = "kernel", .text = loop_name_cell, .width = -44},
    {.title = "constants", .key = "constants", .width = -12},
    {"SPIR-V", "SPIR-V B", .key = "spirv_bytes", .number = "%.0f", .width = 6},
    {.title = "compiled", .text = compiled_cell, .width = -8, .when = WITH_STATISTICS},
    STATISTIC("reg", "registers", "registers", 4),
    {.title = "spills", .text = spills_cell, .width = 8, .when = WITH_STATISTICS},
    STATISTIC("scratch", "scratch B", "scratch_bytes", 7),
    STATISTIC("shared", "shared B", "shared_bytes", 6),
    STATISTIC("instr", "instructions", "instructions", 6),
    STATISTIC("waves", "waves", "waves", 5),
    {.title = "default for", .key = "default_for", .text = default_cell, .gap = 2},
    {0},
};

static void print_heading(const vkf_shader_output *output)
{
    const vkf_device_info *device = &output->device;
    if (output->rows.format == VKF_ROWS_TABLE)
        vkf_print("device %u: %s, %s %s\n", device->index, device->name, device->driver_name, device->driver_info);
    else if (output->rows.format == VKF_ROWS_MD)
        vkf_print("%s, %s %s\n\n", device->name, device->driver_name, device->driver_info);
}

// ---- the objects

static void put_statistic(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, value < 0 ? json_null() : json_integer(value));
}

static json_t *statistics_json(const vkf_kernel_statistics *statistics)
{
    json_t *object = json_object();
    put_statistic(object, "registers", statistics->registers);
    put_statistic(object, "spills", statistics->spills);
    put_statistic(object, "inner_spills", statistics->inner_spills);
    put_statistic(object, "scratch_bytes", statistics->scratch_bytes);
    put_statistic(object, "shared_bytes", statistics->shared_bytes);
    put_statistic(object, "instructions", statistics->instructions);
    put_statistic(object, "code_bytes", statistics->code_bytes);
    put_statistic(object, "waves", statistics->waves);
    return object;
}

// Whether the value is exact as an integer, which hashes are not.
static bool is_whole(double value)
{
    return value >= -MAX_EXACT && value <= MAX_EXACT && value == floor(value);
}

static json_t *raw_json(const vkf_kernel_report *report)
{
    json_t *object = json_object();
    for (uint32_t i = 0; i < report->raw_count; i++) {
        const double value = report->raw[i].value;
        json_object_set_new(object, report->raw[i].name,
                            is_whole(value) ? json_integer((json_int_t)value) : json_real(value));
    }
    return object;
}

static json_t *representations_json(const vkf_kernel_report *report)
{
    json_t *array = json_array();
    for (uint32_t i = 0; i < report->representation_count; i++) {
        const vkf_representation *from = &report->representations[i];
        json_t *object = json_object();
        vkf_json_put_string(object, "executable", from->executable);
        vkf_json_put_string(object, "name", from->name);
        vkf_json_put_integer(object, "size_bytes", from->size_bytes);
        if (from->is_text)
            vkf_json_put_string(object, "text", from->data);
        json_array_append_new(array, object);
    }
    return array;
}

static bool is_json(const vkf_rows *rows)
{
    return rows->format == VKF_ROWS_JSON || rows->format == VKF_ROWS_JSONL;
}

static json_t *report_json(const vkf_shader_output *output, const vkf_kernel_report *report)
{
    json_t *object = json_object();
    vkf_json_put_string(object, "device", output->device.name);
    vkf_json_put_string(object, "driver", output->device.driver_name);
    vkf_json_put_string(object, "driver_info", output->device.driver_info);
    vkf_json_put_string(object, "kernel", report->kernel);
    vkf_json_put_string(object, "config", report->config);
    vkf_json_put_string(object, "constants", report->constants);
    json_object_set_new(object, "usable", json_boolean(report->usable));
    vkf_json_put_string(object, "why", report->why);
    vkf_json_put_string(object, "default_for", report->default_for);
    vkf_json_put_integer(object, "spirv_bytes", report->spirv_bytes);
    if (!output->statistics)
        return object;
    json_object_set_new(object, "compiled", json_boolean(report->compiled));
    vkf_json_put_string(object, "status", vkf_status_name(report->status));
    json_object_set_new(object, "statistics",
                        report->has_statistics || !is_json(&output->rows) ? statistics_json(&report->statistics)
                                                                          : json_null());
    json_object_set_new(object, "raw", raw_json(report));
    if (output->assembly)
        json_object_set_new(object, "representations", representations_json(report));
    if (output->loops) {
        loop_reading reading;
        loop_read_report(report, output->rates, &reading);
        loop_put_json(object, &reading);
    }
    return object;
}

static void print_raw(const vkf_kernel_report *report)
{
    for (uint32_t i = 0; i < report->raw_count; i++)
        vkf_print("    %-40s %.12g\n", report->raw[i].name, report->raw[i].value);
}

// Printed below the row that they belong to.
static void print_representations(const vkf_shader_output *output, const vkf_kernel_report *report)
{
    const char *fence = output->rows.format == VKF_ROWS_MD ? "```\n" : "";
    for (uint32_t i = 0; i < report->representation_count; i++) {
        const vkf_representation *from = &report->representations[i];
        vkf_print("\n%s: %s\n", from->executable, from->name);
        if (from->is_text)
            vkf_print("%s%s%s%s", fence, from->data,
                      from->size_bytes > 0 && from->data[from->size_bytes - 1] == '\n' ? "" : "\n", fence);
        else
            printf("(%zu bytes that are no text)\n", from->size_bytes);
    }
    if (report->representation_count > 0)
        putchar('\n');
}

void vkf_shader_output_begin(vkf_shader_output *output, const vkf_context *context)
{
    const vkf_rows_format format = output->rows.format;
    output->rows = output->loops ? loop_rows(format)
                                 : (vkf_rows){.format = format,
                                              .columns = columns,
                                              .with = output->statistics ? WITH_STATISTICS : 0,
                                              .unknown = "-"};
    output->printed = true;
    vkf_context_get_device_info(context, &output->device);
    if (!output->rates)
        output->rates = chip_rates_find(NULL, output->device.name);
}

bool vkf_shader_output_visit(void *user, const vkf_kernel_report *report)
{
    vkf_shader_output *output = user;
    if ((!report->usable && !output->all) || (output->defaults && !report->default_for[0]))
        return true;
    if (output->listed++ == 0)
        print_heading(output);
    output->failed += output->statistics && report->usable && !report->compiled;
    output->assemblies += report->representation_count > 0;
    output->printed = vkf_rows_add(&output->rows, report_json(output, report));
    if (output->rows.format == VKF_ROWS_TABLE && output->raw && !output->loops)
        print_raw(report);
    if (vkf_rows_are_text(&output->rows) && output->assembly)
        print_representations(output, report);
    return output->printed;
}

bool vkf_shader_output_end(vkf_shader_output *output)
{
    output->printed = vkf_rows_end(&output->rows) && output->printed;
    if (output->failed > 0)
        vkf_print_error("%" PRIu32 " of %" PRIu32 " kernels did not compile", output->failed, output->listed);
    if ((output->assembly || output->loops) && output->listed > output->failed && output->assemblies == 0)
        vkf_print_warning("%s, %s %s, gives no assembly and no other representation of what it compiled",
                          output->device.name, output->device.driver_name, output->device.driver_info);
    return output->printed && output->failed == 0;
}

// Prints reports of kernels as a table, as Markdown or as JSON.
#include "shaders/shader_output.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "command/options.h"
#include "output/json_output.h"
#include "output/visible_text.h"
#include "shaders/loop_output.h"

#define MAX_EXACT 9007199254740992.0 // 2^53

typedef char number_text[48];

bool vkf_shader_parse_form(const char *text, vkf_shader_form *out_form)
{
    static const char *const names[] = {[VKF_SHADER_TABLE] = "table",
                                        [VKF_SHADER_JSON] = "json",
                                        [VKF_SHADER_JSON_LINES] = "jsonl",
                                        [VKF_SHADER_MARKDOWN] = "md"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out_form = (vkf_shader_form)i;
            return true;
        }
    }
    vkf_print_error("--output: '%.200s' is none of table, json, jsonl and md", text);
    return false;
}

static const char *format_number(int64_t value, number_text out_text)
{
    snprintf(out_text, sizeof(number_text), value < 0 ? "-" : "%" PRId64, value);
    return out_text;
}

static const char *format_spills(const vkf_kernel_statistics *statistics, number_text out_text)
{
    if (statistics->spills < 0 || statistics->inner_spills <= 0)
        return format_number(statistics->spills, out_text);
    snprintf(out_text, sizeof(number_text), "%" PRId64 "+%" PRId64, statistics->spills, statistics->inner_spills);
    return out_text;
}

static const char *result_text(const vkf_kernel_report *report)
{
    return report->compiled ? "yes" : report->usable ? "FAILED" : "no";
}

static void print_head(const vkf_shader_output *output)
{
    const vkf_device_info *device = &output->device;
    if (output->form == VKF_SHADER_TABLE) {
        vkf_print("device %u: %s, %s %s\n", device->index, device->name, device->driver_name, device->driver_info);
        if (output->loops) {
            loop_print_head(false);
            return;
        }
        if (output->statistics)
            vkf_print("%-44s %-12s %6s %-8s %4s %8s %7s %6s %6s %5s  ", "kernel", "constants", "SPIR-V", "compiled",
                      "reg", "spills", "scratch", "shared", "instr", "waves");
        else
            vkf_print("%-44s %-12s %6s  ", "kernel", "constants", "SPIR-V");
        puts("default for");
    } else if (output->form == VKF_SHADER_MARKDOWN) {
        vkf_print("%s, %s %s\n\n", device->name, device->driver_name, device->driver_info);
        if (output->loops)
            loop_print_head(true);
        else
            puts(output->statistics
                     ? "| kernel | constants | SPIR-V B | compiled | registers | spills | scratch B | shared B | "
                       "instructions | waves | default for |\n|---|---|---:|---|---:|---:|---:|---:|---:|---:|---|"
                     : "| kernel | constants | SPIR-V B | default for |\n|---|---|---:|---|");
    }
}

static void full_name(const vkf_kernel_report *report, char out_text[256])
{
    snprintf(out_text, 256, "%.120s%s%.120s", report->kernel, report->config[0] ? "/" : "", report->config);
}

static void print_loop(const vkf_shader_output *output, const vkf_kernel_report *report)
{
    loop_reading reading;
    char name[256];
    full_name(report, name);
    loop_read_report(report, output->rates, &reading);
    loop_print_row(output->form == VKF_SHADER_MARKDOWN, name, &reading, report->default_for);
}

static void print_row(const vkf_shader_output *output, const vkf_kernel_report *report)
{
    const vkf_kernel_statistics *s = &report->statistics;
    bool markdown = output->form == VKF_SHADER_MARKDOWN;
    number_text registers, spills, scratch, shared, instructions, waves;
    char name[256];
    full_name(report, name);
    vkf_print(markdown ? "| %s | %s | %" PRIu32 " | " : "%-44s %-12s %6" PRIu32 "%s", name, report->constants,
              report->spirv_bytes, output->statistics ? " " : "  ");
    if (output->statistics)
        vkf_print(markdown ? "%s | %s | %s | %s | %s | %s | %s | " : "%-8s %4s %8s %7s %6s %6s %5s  ",
                  result_text(report), format_number(s->registers, registers), format_spills(s, spills),
                  format_number(s->scratch_bytes, scratch), format_number(s->shared_bytes, shared),
                  format_number(s->instructions, instructions), format_number(s->waves, waves));
    if (report->usable)
        vkf_print(markdown ? "%s |\n" : "%s\n", report->default_for);
    else
        vkf_print(markdown ? "not usable: %s |\n" : "not usable: %s\n", report->why);
}

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
                        report->has_statistics ? statistics_json(&report->statistics) : json_null());
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
    const char *fence = output->form == VKF_SHADER_MARKDOWN ? "```\n" : "";
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
    output->printed = true;
    output->array = output->form == VKF_SHADER_JSON ? json_array() : NULL;
    vkf_context_device_info(context, &output->device);
    if (!output->rates)
        output->rates = chip_rates_find(NULL, output->device.name);
}

bool vkf_shader_output_visit(void *user, const vkf_kernel_report *report)
{
    vkf_shader_output *output = user;
    if ((!report->usable && !output->all) || (output->defaults && !report->default_for[0]))
        return true;
    if (output->listed++ == 0)
        print_head(output);
    output->failed += output->statistics && report->usable && !report->compiled;
    output->assemblies += report->representation_count > 0;
    if (output->form == VKF_SHADER_JSON)
        json_array_append_new(output->array, report_json(output, report));
    else if (output->form == VKF_SHADER_JSON_LINES)
        output->printed = vkf_print_json(report_json(output, report));
    else if (output->loops)
        print_loop(output, report);
    else
        print_row(output, report);
    const bool is_text = output->form == VKF_SHADER_TABLE || output->form == VKF_SHADER_MARKDOWN;
    if (output->form == VKF_SHADER_TABLE && output->raw && !output->loops)
        print_raw(report);
    if (is_text && output->assembly)
        print_representations(output, report);
    return output->printed;
}

bool vkf_shader_output_end(vkf_shader_output *output)
{
    if (output->form == VKF_SHADER_JSON)
        output->printed = vkf_print_json(output->array);
    output->array = NULL;
    if (output->failed > 0)
        vkf_print_error("%" PRIu32 " of %" PRIu32 " kernels did not compile", output->failed, output->listed);
    if ((output->assembly || output->loops) && output->listed > output->failed && output->assemblies == 0)
        vkf_print_warning("%s, %s %s, gives no assembly and no other representation of what it compiled",
                          output->device.name, output->device.driver_name, output->device.driver_info);
    return output->printed && output->failed == 0;
}

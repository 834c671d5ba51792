// Tokens per second on each chip.
#include "plan/plan_table.h"

#include <stdio.h>
#include <string.h>

#include "output/json_output.h"
#include "output/visible_text.h"

static bool fits(const vkf_plan_report *report)
{
    for (uint32_t i = 0; i < report->weights.heap_count; i++)
        if (report->weights.heap_bytes[i] + report->session.heap_bytes[i] > report->device.heap_size_bytes[i])
            return false;
    return true;
}

static double bytes_of(const vkf_plan_report *report)
{
    double bytes = 0;
    for (uint32_t i = 0; i < report->weights.heap_count; i++)
        bytes += (double)(report->weights.heap_bytes[i] + report->session.heap_bytes[i]);
    return bytes;
}

// Tokens per second of run i, which takes so long. A prompt and a text count all their tokens.
static double tokens_per_s(const vkf_plan_report *report, size_t i, double total_s)
{
    const uint32_t each = strcmp(report->runs[i].what, "token") == 0 ? 1 : report->prompt;
    return total_s > 0 ? (double)report->batch * each / total_s : 0;
}

static void print_head(const vkf_plan_report *report)
{
    vkf_print("estimated: %s, %s%s%s, batch %u, prompt %u, context %u\n\n%-10s %-40s %9s", report->model,
              report->precision, report->quantization ? ", " : "", report->quantization ? report->quantization : "",
              report->batch, report->prompt, report->context, "chip", "device", "GiB");
    for (size_t i = 0; i < report->run_count; i++)
        vkf_print(" %6s t/s  of roof%s", report->runs[i].what, report->peer_s[i] > 0 ? "  ggml t/s   ours/its" : "");
    putchar('\n');
}

static void print_line(const vkf_plan_report *report)
{
    vkf_print("%-10s %-40.40s %9.2f", report->chip->name, report->device.name, bytes_of(report) / 1073741824);
    for (size_t i = 0; i < report->run_count; i++) {
        printf(" %10.1f %7.0f%%", tokens_per_s(report, i, report->runs[i].total_s),
               100 * report->runs[i].roof_s / report->runs[i].total_s);
        if (report->peer_s[i] > 0)
            printf(" %9.1f %10.2f", tokens_per_s(report, i, report->peer_s[i]),
                   report->peer_s[i] / report->runs[i].total_s);
    }
    puts(fits(report) ? "" : "  does not fit");
}

static json_t *line_json(const vkf_plan_report *report)
{
    json_t *object = json_object(), *runs = json_object(), *peers = json_object();
    vkf_json_put_string(object, "chip", report->chip->name);
    vkf_json_put_string(object, "device", report->device.name);
    vkf_json_put_real(object, "bytes", bytes_of(report));
    json_object_set_new(object, "fits", json_boolean(fits(report)));
    for (size_t i = 0; i < report->run_count; i++) {
        vkf_json_put_real(runs, report->runs[i].what, tokens_per_s(report, i, report->runs[i].total_s));
        if (report->peer_s[i] > 0)
            vkf_json_put_real(peers, report->runs[i].what, tokens_per_s(report, i, report->peer_s[i]));
    }
    json_object_set_new(object, "tokens_per_second", runs);
    if (json_object_size(peers) > 0)
        json_object_set(object, "ggml_tokens_per_second", peers);
    json_decref(peers);
    return object;
}

static bool take_chip(const vkf_common_options *common, vkf_plan_request request, const char *name, bool head,
                      json_t *list)
{
    vkf_plan_chip chip = {0};
    vkf_plan_report report = {0};
    bool planned = vkf_plan_chip_open(name, &chip);
    request.chip = &chip;
    planned = planned && vkf_plan_make(common, &request, &report);
    if (planned && list)
        json_array_append_new(list, line_json(&report));
    if (planned && !list && head)
        print_head(&report);
    if (planned && !list)
        print_line(&report);
    vkf_plan_report_free(&report);
    vkf_plan_chip_free(&chip);
    return planned;
}

bool vkf_plan_print_table(const vkf_common_options *common, const vkf_plan_request *request, bool json)
{
    json_t *list = json ? json_array() : NULL;
    bool planned = true;
    const char *name;
    for (size_t i = 0; planned && (name = vkf_plan_chip_name(i)); i++)
        planned = take_chip(common, *request, name, i == 0, list);
    if (json && planned)
        return vkf_print_json(list);
    json_decref(list);
    return planned;
}

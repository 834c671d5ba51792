#include "lab/shaders/loop_output.h"

#include <stdio.h>
#include <string.h>

#include "output/json_output.h"
#include "output/visible_text.h"

#define WITH_STATUS 1u

void loop_read(const char *assembly, const chip_rates *rates, int64_t waves, loop_reading *out_reading)
{
    asm_code code;
    *out_reading = (loop_reading){.rates = rates, .status = "no assembly"};
    if (!assembly)
        return;
    if (asm_code_read(assembly, &code, out_reading->status)) {
        static const char *const texts[] = {
            [LOOP_READ] = "read", [LOOP_NONE] = "no loop", [LOOP_NO_MEMORY] = "memory is exhausted"};
        const loop_result result = loop_figures_of(&code, &out_reading->figures);
        snprintf(out_reading->status, sizeof out_reading->status, "%s", texts[result]);
        out_reading->read = result == LOOP_READ;
    }
    out_reading->reaches =
        out_reading->read && rates && loop_reach_of(&out_reading->figures, rates, waves, &out_reading->reach);
    asm_code_free(&code);
}

// RADV and PanVK name it Assembly, NVK NAK assembly, Turnip IR3 Assembly.
void loop_read_report(const vkf_kernel_report *report, const chip_rates *rates, loop_reading *out_reading)
{
    const char *assembly = NULL;
    for (uint32_t i = 0; i < report->representation_count; i++) {
        const vkf_representation *from = &report->representations[i];
        if (from->is_text && strstr(from->name, "ssembly"))
            assembly = from->data;
    }
    loop_read(assembly, rates, report->has_statistics ? report->statistics.waves : -1, out_reading);
}

static double ratio(double amount, double of)
{
    return of > 0 ? amount / of : -1;
}

static double shared_per_multiply_add(const loop_figures *f)
{
    return ratio((double)f->shared_load_bytes + f->shared_store_bytes, loop_multiply_adds(f));
}

static json_t *lines_json(uint32_t first, uint32_t last)
{
    return json_pack("[i, i]", (int)first, (int)last);
}

static void put_counts(json_t *object, const loop_figures *f)
{
    static const char *const names[ASM_KIND_COUNT] = {
        [ASM_OTHER] = "other",
        [ASM_HINT] = "hints",
        [ASM_MATRIX] = "matrix_operations",
        [ASM_FMA] = "fmas",
        [ASM_GLOBAL_LOAD] = "loads",
        [ASM_GLOBAL_STORE] = "stores",
        [ASM_SHARED_LOAD] = "shared_loads",
        [ASM_SHARED_STORE] = "shared_stores",
        [ASM_UNIFORM_LOAD] = "uniform_loads",
        [ASM_BARRIER] = "barriers_in_loop",
        [ASM_TRANSCENDENTAL] = "transcendentals",
        [ASM_BRANCH] = "branches",
    };
    for (size_t k = 0; k < ASM_KIND_COUNT; k++)
        vkf_json_put_integer(object, names[k], f->counts[k]);
}

static json_t *loop_json(const loop_reading *reading)
{
    const loop_figures *f = &reading->figures;
    json_t *object = json_object();
    vkf_json_put_string(object, "dialect", f->dialect);
    vkf_json_put_integer(object, "subgroup", f->subgroup);
    json_object_set_new(object, "lines", lines_json(f->first_line, f->last_line));
    vkf_json_put_real(object, "multiply_adds", loop_multiply_adds(f));
    put_counts(object, f);
    vkf_json_put_real(object, "bytes_per_shared_load", ratio(f->shared_load_bytes, f->counts[ASM_SHARED_LOAD]));
    vkf_json_put_real(object, "shared_bytes_per_multiply_add", shared_per_multiply_add(f));
    json_object_set_new(object, "delay_clocks", f->delay > 0 ? json_integer(f->delay) : json_null());
    json_object_set_new(object, "feed_lines", lines_json(f->feed_first_line, f->feed_last_line));
    vkf_json_put_integer(object, "feed_loads", f->feed_loads);
    vkf_json_put_real(object, "bytes_per_load", ratio(f->feed_bytes, f->feed_loads));
    vkf_json_put_integer(object, "loads_in_flight", f->feed_in_flight);
    vkf_json_put_integer(object, "barriers", f->feed_barriers);
    vkf_json_put_string(object, "chip", reading->rates ? reading->rates->name : NULL);
    vkf_json_put_real(object, "share", reading->reaches ? reading->reach.share : -1);
    vkf_json_put_real(object, "multiply_adds_per_clock", reading->reaches ? reading->reach.multiply_adds : -1);
    json_object_set_new(object, "bound",
                        reading->reaches ? json_string(loop_bound_name(reading->reach.bound)) : json_null());
    return object;
}

void loop_put_json(json_t *object, const loop_reading *reading)
{
    vkf_json_put_string(object, "loop_status", reading->status);
    json_object_set_new(object, "loop", reading->read ? loop_json(reading) : json_null());
}

// ---- as rows

void loop_name_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    const char *file = vkf_rows_string(row, "file"), *config = vkf_rows_string(row, "config");
    snprintf(out_text, VKF_CELL_BYTES, "%s%s%s%s", file, vkf_rows_string(row, "kernel"), config[0] ? "/" : "", config);
}

static void default_cell(const json_t *row, char out_text[VKF_CELL_BYTES])
{
    snprintf(out_text, VKF_CELL_BYTES, "%s", vkf_rows_string(row, "default_for"));
}

static const vkf_column columns[] = {
    {.title = "kernel", .text = loop_name_cell, .width = -44},
    {.title = "status", .key = "loop_status", .when = WITH_STATUS},
    {.title = "matrix", .key = "loop.matrix_operations", .number = "%.0f", .width = 6},
    {.title = "fma", .key = "loop.fmas", .number = "%.0f", .width = 5},
    {"m-adds", "multiply-adds", .key = "loop.multiply_adds", .number = "%.0f", .width = 6},
    {.title = "B/load", .key = "loop.bytes_per_load", .number = "%.3g", .width = 6},
    {"flight", "in flight", .key = "loop.loads_in_flight", .number = "%.0f", .width = 6},
    {"shared", "shared loads", .key = "loop.shared_loads", .number = "%.0f", .width = 6},
    {"B/sh.", "B/shared load", .key = "loop.bytes_per_shared_load", .number = "%.3g", .width = 6},
    {"B/m-add", "shared B/multiply-add", .key = "loop.shared_bytes_per_multiply_add", .number = "%.3g", .width = 7},
    {"bar.", "barriers", .key = "loop.barriers", .number = "%.0f", .width = 4},
    {.title = "other", .key = "loop.other", .number = "%.0f", .width = 5},
    {.title = "delay", .key = "loop.delay_clocks", .number = "%.0f", .width = 5},
    {"roof", "of the roof", .key = "loop.share", .number = "%.0f %%", .scale = 100, .width = 5},
    {.title = "bound by", .key = "loop.bound", .width = -13},
    {.title = "default for", .key = "default_for", .text = default_cell, .gap = 2},
    {0},
};

// A row without a loop says why.
static bool print_unread(const vkf_rows *rows, const json_t *row)
{
    const bool markdown = rows->format == VKF_ROWS_MD;
    char name[VKF_CELL_BYTES];
    if (json_is_object(json_object_get(row, "loop")))
        return false;
    loop_name_cell(row, name);
    vkf_print(markdown ? "| %s | %s%s |\n" : "%-44s %s  %s\n", name, vkf_rows_string(row, "loop_status"),
              markdown ? " | | | | | | | | | | | | | " : vkf_rows_string(row, "default_for"));
    return true;
}

vkf_rows loop_rows(vkf_rows_format format)
{
    return (vkf_rows){.format = format,
                      .columns = columns,
                      .with = format == VKF_ROWS_CSV ? WITH_STATUS : 0,
                      .unknown = "-",
                      .instead = print_unread};
}

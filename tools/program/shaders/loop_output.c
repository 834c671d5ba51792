#include "shaders/loop_output.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "output/json_output.h"
#include "output/visible_text.h"

typedef char cell[24];

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

void loop_print_head(bool markdown)
{
    if (markdown)
        puts("| kernel | matrix | fma | multiply-adds | B/load | in flight | shared loads | B/shared load | "
             "shared B/multiply-add | barriers | other | delay | of the roof | bound by | default for |\n"
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|---|");
    else
        vkf_print("%-44s %6s %5s %6s %6s %6s %6s %6s %7s %4s %5s %5s %5s %-13s  %s\n", "kernel", "matrix", "fma",
                  "m-adds", "B/load", "flight", "shared", "B/sh.", "B/m-add", "bar.", "other", "delay", "roof",
                  "bound by", "default for");
}

static const char *real_cell(double value, const char *format, cell out)
{
    if (value < 0)
        snprintf(out, sizeof(cell), "-");
    else
        snprintf(out, sizeof(cell), format, value);
    return out;
}

void loop_print_row(bool markdown, const char *name, const loop_reading *reading, const char *default_for)
{
    const loop_figures *f = &reading->figures;
    cell bytes, shared, per, share, delay;
    if (!reading->read) {
        vkf_print(markdown ? "| %s | %s%s |\n" : "%-44s %s  %s\n", name, reading->status,
                  markdown ? " | | | | | | | | | | | | | " : default_for);
        return;
    }
    real_cell(ratio(f->feed_bytes, f->feed_loads), "%.3g", bytes);
    real_cell(ratio(f->shared_load_bytes, f->counts[ASM_SHARED_LOAD]), "%.3g", shared);
    real_cell(shared_per_multiply_add(f), "%.3g", per);
    real_cell(reading->reaches ? 100 * reading->reach.share : -1, "%.0f %%", share);
    real_cell(f->delay > 0 ? (double)f->delay : -1, "%.0f", delay);
    vkf_print(markdown ? "| %s | %" PRIu32 " | %" PRIu32 " | %.0f | %s | %" PRIu32 " | %" PRIu32 " | %s | %s | %" PRIu32
                         " | %" PRIu32 " | %s | %s | %s | %s |\n"
                       : "%-44s %6" PRIu32 " %5" PRIu32 " %6.0f %6s %6" PRIu32 " %6" PRIu32 " %6s %7s %4" PRIu32
                         " %5" PRIu32 " %5s %5s %-13s  %s\n",
              name, f->counts[ASM_MATRIX], f->counts[ASM_FMA], loop_multiply_adds(f), bytes, f->feed_in_flight,
              f->counts[ASM_SHARED_LOAD], shared, per, f->feed_barriers, f->counts[ASM_OTHER], delay, share,
              reading->reaches ? loop_bound_name(reading->reach.bound) : "-", default_for);
}

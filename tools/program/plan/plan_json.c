// A plan as JSON.
#include "output/json_output.h"
#include "plan/plan_output.h"

static json_t *row_json(const vkf_plan_row *row, const vkf_plan_chip *chip)
{
    char text[64];
    json_t *object = json_object();
    const vkf_planned_dispatch *d = &row->dispatch;
    vkf_json_put_string(object, "label", row->label);
    vkf_json_put_integer(object, "count", row->count);
    vkf_json_put_integer(object, "barriers", row->barriers);
    vkf_json_put_string(object, "op", d->op);
    vkf_plan_format_problem(d, text, sizeof text);
    vkf_json_put_string(object, "problem", text);
    vkf_json_put_string(object, "kernel", d->kernel);
    vkf_json_put_string(object, "config", d->config);
    vkf_plan_format_types(d, text, sizeof text);
    vkf_json_put_string(object, "types", text);
    vkf_json_put_real(object, "workgroups", row->workgroups);
    vkf_json_put_integer(object, "local_size", d->local_size);
    vkf_json_put_real(object, "flops", d->flops);
    vkf_json_put_real(object, "bytes_read", d->bytes_read);
    vkf_json_put_real(object, "bytes_written", d->bytes_written);
    if (!chip->has_speed)
        return object;
    vkf_json_put_real(object, "workgroups_per_core", row->workgroups / chip->speed.cores);
    vkf_json_put_real(object, "bytes_in_flight", row->cost.bytes_in_flight);
    vkf_json_put_real(object, "seconds", row->total_s);
    vkf_json_put_string(object, "limit", vkf_plan_limit_name(row));
    return object;
}

static json_t *run_json(const vkf_plan_run *run)
{
    json_t *object = json_object(), *rows = json_array();
    vkf_json_put_string(object, "what", run->what);
    vkf_json_put_integer(object, "dispatches", run->dispatches);
    vkf_json_put_integer(object, "barriers", run->barriers);
    vkf_json_put_real(object, "flops", run->flops);
    vkf_json_put_real(object, "bytes", run->bytes);
    if (run->chip->has_speed) {
        vkf_json_put_real(object, "seconds", run->total_s);
        vkf_json_put_real(object, "roof_seconds", run->roof_s);
    }
    for (size_t i = 0; i < run->row_count; i++)
        json_array_append_new(rows, row_json(&run->rows[i], run->chip));
    json_object_set_new(object, "rows", rows);
    return object;
}

static json_t *memory_json(const vkf_plan_report *report)
{
    const vkf_memory_plan *w = &report->weights, *s = &report->session;
    json_t *object = json_object(), *heaps = json_array();
    vkf_json_put_integer(object, "weights", w->weights_bytes);
    vkf_json_put_integer(object, "constants", s->weights_bytes);
    vkf_json_put_integer(object, "activations", s->activations_bytes);
    vkf_json_put_integer(object, "cache", s->cache_bytes);
    vkf_json_put_integer(object, "control", s->control_bytes);
    for (uint32_t i = 0; i < w->heap_count; i++) {
        json_t *heap = json_object();
        vkf_json_put_integer(heap, "used", w->heap_bytes[i] + s->heap_bytes[i]);
        vkf_json_put_integer(heap, "size", report->device.heap_size_bytes[i]);
        json_object_set_new(heap, "device_local", json_boolean(report->device.heap_device_local[i]));
        json_array_append_new(heaps, heap);
    }
    json_object_set_new(object, "heaps", heaps);
    return object;
}

static void put_assumption(void *user, const char *key, double value, const char *unit, const char *source)
{
    json_t *entry = json_object();
    vkf_json_put_real(entry, "value", value);
    vkf_json_put_string(entry, "unit", unit);
    vkf_json_put_string(entry, "source", source);
    json_object_set_new(user, key, entry);
}

static json_t *rank_json(const vkf_cut_part *part)
{
    json_t *object = json_object();
    vkf_json_put_integer(object, "first_layer", part->first);
    vkf_json_put_integer(object, "layers", part->count);
    vkf_json_put_integer(object, "bytes", part->bytes);
    return object;
}

bool vkf_plan_print_json(const vkf_plan_report *report)
{
    json_t *object = json_object(), *runs = json_array(), *assumed = json_object(), *ranks = json_array();
    vkf_json_put_string(object, "model", report->model);
    vkf_json_put_string(object, "chip", report->chip->name);
    vkf_json_put_string(object, "device", report->device.name);
    vkf_json_put_string(object, "precision", report->precision);
    if (report->quantization)
        vkf_json_put_string(object, "quantization", report->quantization);
    vkf_json_put_integer(object, "batch", report->batch);
    vkf_json_put_integer(object, "prompt", report->prompt);
    vkf_json_put_integer(object, "context", report->context);
    json_object_set_new(object, "memory", memory_json(report));
    for (size_t i = 0; i < report->run_count; i++)
        json_array_append_new(runs, run_json(&report->runs[i]));
    json_object_set_new(object, "runs", runs);
    for (uint32_t i = 0; i < report->rank_count; i++)
        json_array_append_new(ranks, rank_json(&report->ranks[i]));
    if (report->rank_count > 0)
        json_object_set(object, "ranks", ranks);
    json_decref(ranks);
    vkf_plan_chip_assumptions(report->chip, put_assumption, assumed);
    for (size_t i = 0; report->chip->has_speed && i < VKF_PLAN_CONSTANT_COUNT; i++)
        put_assumption(assumed, vkf_plan_constants[i].name, vkf_plan_constants[i].value, "",
                       vkf_plan_constants[i].meaning);
    json_object_set_new(object, "assumed", assumed);
    return vkf_print_json(object);
}

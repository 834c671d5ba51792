// A plan as tables.
#include "plan/plan_output.h"

#include <stdio.h>
#include <string.h>

#include "output/visible_text.h"

const vkf_plan_constant vkf_plan_constants[VKF_PLAN_CONSTANT_COUNT] = {
    {"matrix_share", VKF_PLAN_MATRIX_SHARE, "of the peak of matrix units that products reach"},
    {"subgroup_share", VKF_PLAN_SUBGROUP_SHARE, "of their peak with the fastest sums, where subgroups feed them"},
    {"scalar_share", VKF_PLAN_SCALAR_SHARE, "of the peak in f32 that other kernels reach; all their sums are in f32"},
    {"attention_share", VKF_PLAN_ATTENTION_SHARE, "of any peak that attention reaches"},
    {"dot_share", VKF_PLAN_DOT_SHARE, "of the peak of integer dot products"},
    {"memory_share", VKF_PLAN_MEMORY_SHARE, "of the memory's bandwidth, with enough bytes in flight"},
    {"max_groups", VKF_PLAN_MAX_GROUPS, "workgroups that a core holds at most"},
    {"busy_share", VKF_PLAN_BUSY_SHARE, "of a core's invocations that have to be there for its peak"},
};

void vkf_plan_format_problem(const vkf_planned_dispatch *dispatch, char *out_text, size_t capacity)
{
    out_text[0] = '\0';
    if (dispatch->n == 0)
        return;
    size_t used = (size_t)snprintf(out_text, capacity, "%ux%u", dispatch->m, dispatch->n);
    if (dispatch->k > 0 && used < capacity)
        (void)snprintf(out_text + used, capacity - used, "x%u", dispatch->k);
}

void vkf_plan_format_types(const vkf_planned_dispatch *dispatch, char *out_text, size_t capacity)
{
    size_t used = 0;
    out_text[0] = '\0';
    for (uint32_t i = 0; i < dispatch->type_count && used < capacity; i++)
        used += (size_t)snprintf(out_text + used, capacity - used, "%s%s", i > 0 ? "," : "",
                                 vkf_dtype_name(dispatch->types[i]));
}

const char *vkf_plan_limit_name(const vkf_plan_row *row)
{
    static const char *const names[] = {
        [VKF_PLAN_BY_MATH] = "math", [VKF_PLAN_BY_MEMORY] = "memory", [VKF_PLAN_BY_BARRIER] = "barrier"};
    return row->cost.total_s > 0 ? names[row->cost.limit] : "";
}

static void print_row(const vkf_plan_row *row, const vkf_plan_chip *chip)
{
    char problem[48], kernel[64];
    const vkf_planned_dispatch *d = &row->dispatch;
    vkf_plan_format_problem(d, problem, sizeof problem);
    (void)snprintf(kernel, sizeof kernel, "%s/%s", d->kernel, d->config);
    vkf_print("  %-26.26s %4u  %-20s %-46s %8.0f %4u", row->label, row->count, problem, kernel, row->workgroups,
              d->local_size);
    if (chip->has_speed)
        vkf_print(" %7.2f %9.1f %9.1f  %s", row->workgroups / chip->speed.cores, row->cost.bytes_in_flight / 1024,
                  row->total_s * 1e6, vkf_plan_limit_name(row));
    putchar('\n');
}

static void print_run(const vkf_plan_report *report, const vkf_plan_run *run)
{
    vkf_print("\n%s: %u dispatches, %u of them after a barrier; %.2f GFLOP, %.1f MB\n", run->what, run->dispatches,
              run->barriers, run->flops / 1e9, run->bytes / 1e6);
    vkf_print("  %-26s %4s  %-20s %-46s %8s %4s%s\n", "dispatch", "n", "problem", "kernel", "groups", "size",
              report->chip->has_speed ? "  /core   KiB/way        us  by" : "");
    for (size_t i = 0; i < run->row_count; i++)
        print_row(&run->rows[i], report->chip);
    if (report->chip->has_speed)
        vkf_print("  estimate: %.3f ms for a %s, submission included; %.3f ms at the roof, %.0f %% of it\n",
                  run->total_s * 1e3, run->what, run->roof_s * 1e3, 100 * run->roof_s / run->total_s);
}

static void print_memory(const vkf_plan_report *report)
{
    const vkf_memory_plan *w = &report->weights, *s = &report->session;
    printf("memory           weights %.1f MiB, activations %.1f, cache %.1f, control %.1f, constants %.1f\n",
           (double)w->weights_bytes / 1048576, (double)s->activations_bytes / 1048576, (double)s->cache_bytes / 1048576,
           (double)s->control_bytes / 1048576, (double)s->weights_bytes / 1048576);
    for (uint32_t i = 0; i < w->heap_count; i++)
        vkf_print("heap %u           %.1f of %.1f MiB%s\n", i, (double)(w->heap_bytes[i] + s->heap_bytes[i]) / 1048576,
                  (double)report->device.heap_size_bytes[i] / 1048576,
                  report->device.heap_device_local[i] ? ", device-local" : "");
}

static void print_ranks(const vkf_plan_report *report)
{
    for (uint32_t i = 0; i < report->rank_count; i++) {
        const vkf_cut_part *part = &report->ranks[i];
        if (part->count > 0)
            printf("rank %-11u layers %u to %u, %.1f MiB with %u batches under way\n", i, part->first,
                   part->first + part->count - 1, (double)part->bytes / 1048576, report->rank_count);
        else
            printf("rank %-11u no layers\n", i);
    }
}

static void print_assumption(void *user, const char *key, double value, const char *unit, const char *source)
{
    (void)user;
    vkf_print("  %-22s %10.4g %-8s %s\n", key, value, unit, source);
}

static void print_assumptions(const vkf_plan_report *report)
{
    if (!report->chip->has_speed) {
        printf("\nno times: the description has no object 'speed' in 'vkformer'\n");
        return;
    }
    printf("\nassumed of the chip\n");
    vkf_plan_chip_assumptions(report->chip, print_assumption, NULL);
    printf("assumed of the kernels\n");
    for (size_t i = 0; i < VKF_PLAN_CONSTANT_COUNT; i++)
        print_assumption(NULL, vkf_plan_constants[i].name, vkf_plan_constants[i].value, "",
                         vkf_plan_constants[i].meaning);
    printf("A dispatch takes the longer of its operations and its bytes, and the cost of a barrier where one stands\n"
           "before it. Its bandwidth is its bytes in flight in a latency, by Little's law. Each byte of an operand\n"
           "counts once. The host's own work between runs is left out. None of this was measured.\n");
}

void vkf_plan_print_text(const vkf_plan_report *report)
{
    vkf_print("model            %s, %s%s%s\n", report->model, report->precision, report->quantization ? ", " : "",
              report->quantization ? report->quantization : "");
    vkf_print("chip             %s: %s, subgroups of %u\n", report->chip->name, report->device.name,
              report->device.subgroup_size);
    printf("session          batch %u, prompt %u, context %u\n", report->batch, report->prompt, report->context);
    print_memory(report);
    print_ranks(report);
    for (size_t i = 0; i < report->run_count; i++)
        print_run(report, &report->runs[i]);
    print_assumptions(report);
}

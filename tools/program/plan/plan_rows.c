// Gathers the dispatches of a run.
#include "plan/plan_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"

static bool alike(const vkf_plan_row *row, const vkf_planned_dispatch *dispatch)
{
    const vkf_planned_dispatch *own = &row->dispatch;
    return strcmp(row->label, dispatch->label) == 0 && own->kernel == dispatch->kernel &&
           own->config == dispatch->config && own->m == dispatch->m && own->n == dispatch->n && own->k == dispatch->k &&
           own->flops == dispatch->flops && own->bytes_read == dispatch->bytes_read &&
           memcmp(own->workgroups, dispatch->workgroups, sizeof own->workgroups) == 0;
}

static bool has_workgroup_scope(const char *kernel)
{
    return strncmp(kernel, "gemm_coopmat2", strlen("gemm_coopmat2")) == 0 && !strstr(kernel, "_element");
}

static vkf_plan_load load_of(const vkf_plan_row *row)
{
    const vkf_planned_dispatch *d = &row->dispatch;
    return (vkf_plan_load){
        .math = d->tensor_math   ? VKF_PLAN_MATRIX
                : d->integer_dot ? VKF_PLAN_DOT
                : d->half_sums   ? VKF_PLAN_HALF
                                 : VKF_PLAN_SCALAR,
        .half_sums = d->half_sums,
        .half_run = !d->half_sums                    ? 0
                    : has_workgroup_scope(d->kernel) ? VKF_PLAN_WORKGROUP_RUN
                                                     : VKF_PLAN_SUBGROUP_RUN,
        .attention = strcmp(d->op, "attention") == 0,
        .workgroup_scope = has_workgroup_scope(d->kernel),
        .workgroups = row->workgroups,
        .local_size = d->local_size,
        .shared_bytes = d->shared_bytes,
        .step_bytes = d->step_bytes,
        .flops = d->flops,
        .bytes = d->bytes_read + d->bytes_written,
    };
}

static vkf_plan_row *add_row(vkf_plan_run *run, const vkf_planned_dispatch *dispatch)
{
    if (run->row_count == run->row_capacity) {
        size_t capacity = run->row_capacity > 0 ? 2 * run->row_capacity : 32;
        vkf_plan_row *rows = realloc(run->rows, capacity * sizeof *rows);
        if (!rows)
            return NULL;
        run->rows = rows;
        run->row_capacity = capacity;
    }
    vkf_plan_row *row = &run->rows[run->row_count++];
    *row = (vkf_plan_row){
        .dispatch = *dispatch,
        .workgroups = (double)dispatch->workgroups[0] * dispatch->workgroups[1] * dispatch->workgroups[2],
    };
    (void)snprintf(row->label, sizeof row->label, "%s", dispatch->label);
    return row;
}

static vkf_plan_row *find_row(vkf_plan_run *run, const vkf_planned_dispatch *dispatch)
{
    for (size_t i = 0; i < run->row_count; i++)
        if (alike(&run->rows[i], dispatch))
            return &run->rows[i];
    return add_row(run, dispatch);
}

void vkf_plan_run_take(void *user, const vkf_planned_dispatch *dispatch)
{
    vkf_plan_run *run = user;
    if (run->failed || strcmp(dispatch->run, run->group) != 0)
        return;
    vkf_plan_row *row = find_row(run, dispatch);
    run->failed = row == NULL;
    if (run->failed)
        return;
    row->count++;
    row->barriers += dispatch->after_barrier;
    run->dispatches++;
    run->barriers += dispatch->after_barrier;
    run->flops += dispatch->flops;
    run->bytes += dispatch->bytes_read + dispatch->bytes_written;
    if (!run->chip->has_speed)
        return;
    vkf_plan_load load = load_of(row);
    load.after_barrier = dispatch->after_barrier;
    const vkf_plan_cost cost = vkf_plan_estimate(&run->chip->speed, &load);
    row->cost = row->count == 1 ? cost : row->cost;
    row->total_s += cost.total_s;
    run->total_s += cost.total_s;
}

void vkf_plan_run_finish(vkf_plan_run *run)
{
    if (run->failed)
        vkf_print_error("memory is exhausted");
    if (!run->chip->has_speed)
        return;
    run->roof_s = vkf_plan_roof_s(&run->chip->speed, run->flops, run->bytes);
    run->total_s += run->chip->speed.submit_s;
}

void vkf_plan_run_free(vkf_plan_run *run)
{
    free(run->rows);
    *run = (vkf_plan_run){0};
}

// The model behind vkformer plan.
#include "plan/plan_estimate.h"

#include <math.h>

static double matrix_peak(const vkf_chip_speed *speed, const vkf_plan_load *load)
{
    const double fastest = fmax(speed->matrix_flops, speed->matrix_f16_flops);
    const double rate = load->half_sums ? fastest : speed->matrix_flops;
    if (load->attention)
        return rate * VKF_PLAN_ATTENTION_SHARE;
    // Sums become f32 once in a run, as if the matrix units waited for it. An instruction takes the place of two
    // operations, and a run has twice as many operations as products.
    double seconds_per_flop = 1 / (rate * VKF_PLAN_MATRIX_SHARE);
    if (load->half_run > 0)
        seconds_per_flop += VKF_PLAN_RUN_INSTRUCTIONS / load->half_run / (speed->f32_flops * VKF_PLAN_SCALAR_SHARE);
    return fmin(1 / seconds_per_flop, load->workgroup_scope ? INFINITY : fastest * VKF_PLAN_SUBGROUP_SHARE);
}

static double peak(const vkf_chip_speed *speed, const vkf_plan_load *load)
{
    const double share = load->attention ? VKF_PLAN_ATTENTION_SHARE : VKF_PLAN_SCALAR_SHARE;
    switch (load->math) {
    case VKF_PLAN_MATRIX:
        return matrix_peak(speed, load);
    case VKF_PLAN_DOT:
        return speed->dot_ops * VKF_PLAN_DOT_SHARE;
    case VKF_PLAN_HALF:
        return speed->f16_flops * share;
    case VKF_PLAN_SCALAR:
        break;
    }
    return speed->f32_flops * share;
}

static double resident_groups(const vkf_chip_speed *speed, const vkf_plan_load *load)
{
    double groups = fmin(VKF_PLAN_MAX_GROUPS, floor(speed->invocations_per_core / fmax(load->local_size, 1)));
    if (load->shared_bytes > 0)
        groups = fmin(groups, floor(speed->shared_bytes_per_core / load->shared_bytes));
    return fmax(groups, 1);
}

// Workgroups come in rounds of one for each core, of which the last may be far from full; and a core needs enough
// invocations to hide what each waits for.
static double busy_part(const vkf_chip_speed *speed, const vkf_plan_load *load, double resident)
{
    const double rounds = ceil(load->workgroups / speed->cores);
    const double spread = load->workgroups / (rounds * speed->cores);
    const double invocations = fmin(rounds, resident) * load->local_size;
    return spread * fmin(1, invocations / (VKF_PLAN_BUSY_SHARE * speed->invocations_per_core));
}

static vkf_plan_limit largest(const vkf_plan_cost *cost)
{
    if (cost->barrier_s > cost->math_s && cost->barrier_s > cost->memory_s)
        return VKF_PLAN_BY_BARRIER;
    return cost->math_s > cost->memory_s ? VKF_PLAN_BY_MATH : VKF_PLAN_BY_MEMORY;
}

vkf_plan_cost vkf_plan_estimate(const vkf_chip_speed *speed, const vkf_plan_load *load)
{
    vkf_plan_cost cost = {.barrier_s = load->after_barrier ? speed->barrier_s : 0};
    if (load->workgroups > 0) {
        cost.groups_per_core = resident_groups(speed, load);
        cost.busy = busy_part(speed, load, cost.groups_per_core);
        cost.bytes_in_flight = fmin(load->workgroups, speed->cores * cost.groups_per_core) * load->step_bytes;
        cost.bytes_per_s =
            fmin(VKF_PLAN_MEMORY_SHARE * speed->memory_bytes_per_s, cost.bytes_in_flight / speed->latency_s);
        cost.math_s = load->flops > 0 ? load->flops / (peak(speed, load) * cost.busy) : 0;
        cost.memory_s = load->bytes > 0 ? load->bytes / cost.bytes_per_s : 0;
    }
    cost.total_s = fmax(cost.math_s, cost.memory_s) + cost.barrier_s;
    cost.limit = largest(&cost);
    return cost;
}

double vkf_plan_roof_s(const vkf_chip_speed *speed, double flops, double bytes)
{
    const double peak_flops = fmax(speed->f32_flops, fmax(speed->f16_flops, speed->matrix_flops));
    return fmax(flops / peak_flops, bytes / speed->memory_bytes_per_s);
}

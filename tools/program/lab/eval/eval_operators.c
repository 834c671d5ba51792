// Compares kernels with their operators' references, on edge shapes and drawn ones, and prints what was found.
#include "lab/eval/eval_operators.h"

#include <stdio.h>
#include <string.h>

#include "command/commands.h"
#include "command/options.h"
#include "kernel/context.h"
#include "op/operators.h"
#include "output/json_output.h"
#include "output/progress.h"
#include "prove/self_test_fixture.h"

typedef struct operators_run {
    vkf_context *context;
    const vkf_operator_cases *cases;
    vkf_rows rows;
    vkf_progress progress;
    uint32_t kernels, wrong;
} operators_run;

static const vkf_column columns[] = {
    {.title = "Kernel", .key = "kernel", .width = -44},
    {.title = "Config", .key = "config", .width = -14},
    {.title = "Cases", .key = "cases", .number = "%.0f", .width = 5},
    {.title = "Verdict", .key = "verdict", .width = -7},
    {.title = "Why", .key = "reason"},
    {0},
};

static bool is_operator(const char *name)
{
    for (vkf__op op = 0; op < VKF_OP_COUNT; op++)
        if (strcmp(name, vkf__op_name(op)) == 0)
            return true;
    return false;
}

// `name` is an operator's, "all", or else the beginning of a kernel's.
static bool is_wanted(const char *name, const vkf__kernel *kernel)
{
    const bool named = is_operator(name) ? strcmp(name, vkf__op_name(kernel->op)) == 0
                                         : strncmp(name, kernel->name, strlen(name)) == 0;
    return vkf__operator(kernel->op)->cases && (named || strcmp(name, "all") == 0);
}

bool vkf_operator_cases_exist(const char *name)
{
    vkf__kernel_walk walk = {0};
    for (const vkf__kernel *kernel; (kernel = vkf__kernel_next(&walk));)
        if (is_wanted(name, kernel))
            return true;
    vkf_print_error("--cases: no operator is called '%.200s', and no kernel's name begins so; all is each", name);
    return false;
}

// Edge shapes first, then drawn ones, until one is wrong.
static vkf_status run_cases(const operators_run *run, vkf__fixture *fixture)
{
    vkf_status status = vkf__fixture_init(fixture, VKF_FIXTURE_BYTES);
    if (status == VKF_OK)
        status = vkf__operator(fixture->cases.variant->kernel->op)->cases(&fixture->cases);
    if (status == VKF_OK)
        status = vkf__fixture_draw(fixture, run->cases->draws);
    vkf__fixture_finish(fixture);
    return status;
}

static vkf_status add_row(operators_run *run, const vkf__fixture *fixture)
{
    const vkf__variant *variant = fixture->cases.variant;
    const bool good = fixture->verdict == VKF_VERDICT_PASSED;
    json_t *row = json_object();
    vkf_json_put_string(row, "kernel", variant->kernel->name);
    vkf_json_put_string(row, "config", variant->config->name);
    vkf_json_put_integer(row, "cases", fixture->cases.taken);
    vkf_json_put_string(row, "verdict",
                        good                                         ? "right"
                        : fixture->verdict == VKF_VERDICT_UNCOMPILED ? "not compiled"
                                                                     : "wrong");
    vkf_json_put_string(row, "reason", good ? "" : fixture->reason);
    run->kernels++;
    run->wrong += !good;
    return vkf_rows_add(&run->rows, row) ? VKF_OK : VKF_ERROR_FILE;
}

static vkf_status judge(operators_run *run, const vkf__variant *variant)
{
    vkf__fixture fixture = {
        .context = run->context,
        .cases = {.variant = variant, .random = run->cases->seed},
        .verdict = VKF_VERDICT_PASSED,
        .repetitions = 2,
    };
    vkf_progress_show(&run->progress, vkf__kernel_index(variant->kernel), vkf__kernel_count(), variant->kernel->name);
    VKF_RETURN_IF_ERROR(run_cases(run, &fixture));
    return fixture.cases.taken > 0 || fixture.verdict != VKF_VERDICT_PASSED ? add_row(run, &fixture) : VKF_OK;
}

static vkf_status judge_all(operators_run *run)
{
    const vkf__caps *caps = &run->context->device.plan.caps;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count && is_wanted(run->cases->name, kernel); c++)
            if (vkf__kernel_supported(caps, kernel, &kernel->configs[c], NULL))
                VKF_RETURN_IF_ERROR(judge(run, &(vkf__variant){kernel, &kernel->configs[c]}));
    }
    return VKF_OK;
}

int vkf_eval_operators(vkf_context *context, const vkf_operator_cases *cases)
{
    operators_run run = {
        .context = context,
        .cases = cases,
        .rows = {.format = cases->format, .columns = columns, .fitted = true},
    };
    context->self_test_budget_ns = UINT64_MAX / 8; // nothing is slow here
    run.progress = vkf_progress_start("cases");
    vkf_status status = judge_all(&run);
    vkf_progress_end(&run.progress);
    if (!vkf_rows_end(&run.rows) || status != VKF_OK)
        return VKF_EXIT_FAILED;
    fprintf(stderr, "%u kernels, %u wrong\n", run.kernels, run.wrong);
    if (run.kernels == 0)
        vkf_print_error("--cases: no kernel of %s runs on this device", cases->name);
    return run.kernels == 0 ? VKF_EXIT_FAILED : run.wrong > 0 ? VKF_EXIT_BEYOND : VKF_EXIT_DONE;
}

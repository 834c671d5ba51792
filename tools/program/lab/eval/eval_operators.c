// Compares kernels with their operators' references, on edge shapes and drawn ones, and prints what was found.
#include "lab/eval/eval_operators.h"

#include <stdio.h>

#include "output/json_output.h"

static const vkf_column columns[] = {
    {.title = "Kernel", .key = "kernel", .width = -44},
    {.title = "Config", .key = "config", .width = -14},
    {.title = "Cases", .key = "cases", .number = "%.0f", .width = 5},
    {.title = "Verdict", .key = "verdict", .width = -7},
    {.title = "Why", .key = "reason"},
    {0},
};

static vkf_status add_row(vkf_case_walk *walk, const vkf__fixture *fixture)
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
    return vkf_rows_add(&walk->rows, row) ? VKF_OK : VKF_ERROR_FILE;
}

int vkf_eval_operators(vkf_context *context, const vkf_operator_cases *cases)
{
    vkf_case_walk walk = {
        .context = context,
        .cases = cases,
        .rows = {.format = cases->format, .columns = columns, .fitted = true},
        .after = add_row,
    };
    const int code = vkf_operator_cases_run(&walk);
    if (walk.kernels > 0)
        fprintf(stderr, "%u kernels, %u wrong\n", walk.kernels, walk.wrong);
    return code;
}

// Walks operators' cases: each kernel that has the name and that the device takes gets a fixture of its own.
#include "lab/cases/operator_cases.h"

#include <string.h>

#include "command/commands.h"
#include "command/options.h"
#include "kernel/context.h"
#include "op/operators.h"
#include "output/progress.h"

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
    vkf_print_error("no operator is called '%.200s', and no kernel's name begins so; all is each", name);
    return false;
}

static vkf_status run_cases(const vkf_case_walk *walk, vkf__fixture *fixture)
{
    vkf_status status = vkf__fixture_init(fixture, VKF_FIXTURE_BYTES);
    if (walk->run) {
        fixture->cases.run = walk->run;
        fixture->cases.user = walk->user;
    }
    if (status == VKF_OK)
        status = vkf__operator(fixture->cases.variant->kernel->op)->cases(&fixture->cases);
    if (status == VKF_OK)
        status = vkf__fixture_draw(fixture, walk->cases->draws);
    vkf__fixture_finish(fixture);
    return status;
}

static vkf_status walk_variant(vkf_case_walk *walk, const vkf__variant *variant)
{
    vkf__fixture fixture = {
        .context = walk->context,
        .cases = {.variant = variant},
        .verdict = VKF_VERDICT_PASSED,
        .repetitions = 2,
    };
    vkf__cases_seed(&fixture.cases, walk->cases->seed);
    VKF_RETURN_IF_ERROR(run_cases(walk, &fixture));
    if (fixture.cases.taken == 0 && fixture.verdict == VKF_VERDICT_PASSED)
        return VKF_OK;
    walk->kernels++;
    walk->wrong += fixture.verdict != VKF_VERDICT_PASSED;
    return walk->after ? walk->after(walk, &fixture) : VKF_OK;
}

static vkf_status walk_all(vkf_case_walk *walk, vkf_progress *progress)
{
    const vkf__caps *caps = &walk->context->device.plan.caps;
    for (uint32_t i = 0; i < vkf__kernel_count(); i++) {
        const vkf__kernel *kernel = vkf__kernel_at(i);
        for (uint32_t c = 0; c < kernel->config_count && is_wanted(walk->cases->name, kernel); c++) {
            if (!vkf__kernel_supported(caps, kernel, &kernel->configs[c], NULL))
                continue;
            vkf_progress_show(progress, i, vkf__kernel_count(), kernel->name);
            VKF_RETURN_IF_ERROR(walk_variant(walk, &(vkf__variant){kernel, &kernel->configs[c]}));
        }
    }
    return VKF_OK;
}

int vkf_operator_cases_run(vkf_case_walk *walk)
{
    vkf_progress progress = vkf_progress_start("cases");
    walk->context->self_test_budget_ns = UINT64_MAX / 8; // nothing is slow here
    const vkf_status status = walk_all(walk, &progress);
    vkf_progress_end(&progress);
    if (!vkf_rows_end(&walk->rows) || status != VKF_OK)
        return VKF_EXIT_FAILED;
    if (walk->kernels == 0)
        vkf_print_error("no kernel of %s runs on this device", walk->cases->name);
    return walk->kernels == 0 ? VKF_EXIT_FAILED : walk->wrong > 0 ? VKF_EXIT_BEYOND : VKF_EXIT_DONE;
}

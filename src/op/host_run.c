// Executes the dispatches of a plan as it is made: the planner tells a watcher of each.
#include "op/host_run.h"

#include <assert.h>
#include <string.h>

#include "base/size.h"
#include "op/operators.h"

// Memory for a temporary, which holds NaN until a dispatch writes it.
static vkf_status temp_of(vkf__host_run *run, const vkf__work *work, uint32_t temp, uint8_t **out_bytes)
{
    const vkf__host *host = &run->context->host;
    const uint64_t size = work->plan.temps[temp - 1].size_bytes;
    void *temps = run->temps;
    VKF_RETURN_IF_ERROR(vkf__grow(host, &temps, sizeof *run->temps, run->temp_count, &run->temp_capacity, temp));
    run->temps = temps;
    while (run->temp_count < temp)
        run->temps[run->temp_count++] = NULL;
    if (!run->temps[temp - 1]) {
        VKF_ALLOC_OR_RETURN(host, run->temps[temp - 1], size);
        memset(run->temps[temp - 1], 0xff, size);
    }
    *out_bytes = run->temps[temp - 1];
    return VKF_OK;
}

static void note_written(vkf__host_run *run, const vkf__span *span)
{
    for (uint32_t i = 0; i < run->written_count; i++)
        if (run->written[i].offset_bytes == span->offset_bytes && run->written[i].size_bytes == span->size_bytes)
            return;
    if (run->written_count < VKF_HOST_RUN_WRITES)
        run->written[run->written_count++] = (vkf__written){span->offset_bytes, span->size_bytes, span->dtype};
    else
        run->status = VKF_ERROR_INTERNAL;
}

// Where an operand lies. Counters have no place while a list is planned, and references count nothing.
static vkf_status find(vkf__host_run *run, const vkf__work *work, const vkf__binding *binding, vkf__host_operand *out)
{
    const vkf__span *span = &binding->span;
    uint8_t *bytes = NULL;
    uint64_t room = 0;
    if (span->size_bytes > 0 && span->temp > 0) {
        VKF_RETURN_IF_ERROR(temp_of(run, work, span->temp, &bytes));
        room = work->plan.temps[span->temp - 1].size_bytes;
    } else if (span->size_bytes > 0 && span->buffer == run->buffer) {
        bytes = run->image;
        room = run->image_bytes;
    }
    if (!bytes || span->offset_bytes > room || span->size_bytes > room - span->offset_bytes)
        return VKF_OK;
    *out = (vkf__host_operand){bytes + span->offset_bytes, span->size_bytes, span->dtype};
    if (binding->write && span->temp == 0)
        note_written(run, span);
    return VKF_OK;
}

static vkf_status execute(vkf__host_run *run, const vkf__work *work, const vkf__dispatch *dispatch)
{
    const vkf__kernel *kernel = dispatch->variant.kernel;
    const vkf__op_info *info = vkf__operator(kernel->op);
    uint32_t spec[VKF_KERNEL_MAX_SPEC] = {0}, params[VKF_OP_MAX_PARAMS] = {0};
    vkf__execution e = {.kernel = kernel, .spec = spec, .params = params, .host = &run->context->host};
    if (!info->reference)
        return VKF_ERROR_UNSUPPORTED;
    vkf__variant_spec(&run->context->device.plan.caps, &dispatch->variant, dispatch->flags, spec);
    assert(kernel->params_bytes <= sizeof params);
    memcpy(params, dispatch->params, kernel->params_bytes);
    for (uint32_t i = 0; i < kernel->operand_count; i++)
        VKF_RETURN_IF_ERROR(find(run, work, &dispatch->bindings[i], &e.operands[i]));
    if (run->change)
        run->change(run->user, kernel, params, spec);
    return info->reference(&e);
}

static void planned(void *user, const vkf__work *work, const vkf__dispatch *dispatch, const vkf__problem *problem,
                    bool barrier)
{
    vkf__host_run *run = user;
    const uint32_t *grid = dispatch->grid;
    (void)problem;
    (void)barrier;
    if (run->status == VKF_OK && (grid[0] > 0 || grid[1] > 0 || grid[2] > 0))
        run->status = execute(run, work, dispatch);
}

vkf_status vkf__host_run_emit(vkf__host_run *run, vkf__emit_fn emit, const void *args)
{
    vkf__work work;
    vkf__plan_watcher watcher = {.planned = planned, .user = run};
    vkf__work_init(&work, run->context, "reference");
    work.trial = run->trial;
    work.watcher = &watcher;
    run->status = VKF_OK;
    run->written_count = 0;
    vkf_status status = vkf__work_plan(&work, emit, args);
    vkf__work_finish(&work);
    for (size_t i = 0; i < run->temp_count; i++)
        vkf__free(&run->context->host, run->temps[i]);
    vkf__free(&run->context->host, run->temps);
    run->temps = NULL;
    run->temp_count = run->temp_capacity = 0;
    return status != VKF_OK ? status : run->status;
}

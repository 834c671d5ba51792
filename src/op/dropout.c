// The emitter of dropout, and its operator's row.
#include "op/dropout.h"

#include <assert.h>

#include "op/flat.h"
#include "op/operators.h"
#include "shared/dropout.h"

_Static_assert(VKF_PART_EACH == 4, "an invocation takes the elements of one counter");

uint32_t vkf__dropout_threshold(float p)
{
    const double threshold = (double)p * 4294967296.0 + 0.5;
    return threshold < (double)UINT32_MAX ? (uint32_t)threshold : UINT32_MAX;
}

float vkf__dropout_scale(float p)
{
    return p < 1.0f ? (float)(1.0 / (1.0 - (double)p)) : 0.0f;
}

vkf_status vkf__emit_dropout(vkf__work *work, const vkf__dropout_args *args)
{
    assert(args->p >= 0.0f && args->p <= 1.0f);
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_DROPOUT_SPEC_HAS_RESIDUAL] = vkf__present(&args->residual)};
    struct vkf_dropout_params params = {
        .threshold = vkf__dropout_threshold(args->p),
        .stream = args->stream,
        .step = args->step,
        .seed_low = (uint32_t)args->seed,
        .seed_high = (uint32_t)(args->seed >> 32),
        .scale = vkf__dropout_scale(args->p),
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_DROPOUT,
        .types = {args->x.dtype},
        .bindings = {{args->x, false}, {args->residual, false}, {args->out, true}},
        .flags = flags,
        .params = &params,
        .count = {(uint64_t)args->rows * args->dim},
        .factors = 1,
        .parts = true,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_dropout_params *p = dispatched->params;
    const vkf_dtype x = dispatched->kernel->types[0];
    const bool residual = dispatched->spec[VKF_DROPOUT_SPEC_HAS_RESIDUAL] != 0;
    vkf__account dropped = vkf__account_elementwise(p->count, residual ? 2 : 1, x, x);
    dropped.bytes_read *= residual ? 2 : 1;
    return dropped;
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_dropout_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_DROPOUT_BINDING_OUT, dispatched->kernel->types[0], p->count);
    return true;
}

// No pipeline is made ahead, because only training asks for it.
static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}}};

const vkf__op_info vkf__op_dropout = {
    .params_bytes = sizeof(struct vkf_dropout_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_DROPOUT_SPEC_HAS_RESIDUAL, 1}},
};

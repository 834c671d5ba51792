// The emitter of dropout, and its operator's row.
#include "op/train/dropout.h"

#include <assert.h>

#include "base/philox.h"
#include "op/cases.h"
#include "op/execution.h"
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

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_dropout(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_dropout_params *p = e->params;
    const uint32_t seed[2] = {p->seed_low, p->seed_high};
    const bool adds = e->spec[VKF_DROPOUT_SPEC_HAS_RESIDUAL];
    for (uint32_t i = 0; i < p->count; i++) {
        const uint32_t counter[4] = {i / 4, 0, p->stream, p->step};
        uint32_t words[4];
        vkf__philox(counter, seed, words);
        const bool keeps = words[i % 4] >= p->threshold && p->scale != 0;
        const double value = keeps ? (double)p->scale * vkf__load(e, VKF_DROPOUT_BINDING_X, i) : 0;
        vkf__store(e, VKF_DROPOUT_BINDING_OUT, i, adds ? value + vkf__load(e, VKF_DROPOUT_BINDING_RESIDUAL, i) : value);
    }
    return VKF_OK;
}

static vkf_status cases(vkf__cases *c)
{
    static const float probabilities[] = {0.25f, 0, 0x1p-31f, 0.1f, 0.5f, 0.9f, 0.99999994f, 1};
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t rows = vkf__case_size(c, 3, 9), dim = vkf__case_size(c, 351, 9000), place = vkf__case_pick(c, 0, 3);
    const bool adds = vkf__case_constant(c, VKF_DROPOUT_SPEC_HAS_RESIDUAL, vkf__case_flip(c, true));
    const uint64_t count = (uint64_t)rows * dim;
    vkf__dropout_args args = {
        .label = "dropout",
        .x = vkf__case_floats(c, type, count),
        .residual = vkf__case_floats(c, type, adds ? count : 0),
        .rows = rows,
        .dim = dim,
        .p = probabilities[vkf__case_pick(c, 0, sizeof probabilities / sizeof probabilities[0])],
        .seed = (uint64_t)vkf__case_pick(c, 0x1234567, UINT32_MAX) << 32 | vkf__case_pick(c, 0x89abcdef, UINT32_MAX),
        .stream = vkf__case_pick(c, 7, UINT32_MAX),
        .step = vkf__case_pick(c, 1000, UINT32_MAX),
    };
    args.out = place == 1 ? args.x : place == 2 && adds ? args.residual : vkf__case_floats(c, type, count);
    vkf__case_extremes(c, &args.x);
    // Two roundings of 2^-24.
    return vkf__case_run(c, &args, c->draw ? 3e-7 : vkf__case_exact(type), "(%u, %u), %g dropped%s, place %u", rows,
                         dim, (double)args.p, adds ? ", added" : "", place);
}

const vkf__op_info vkf__op_dropout = {
    .params_bytes = sizeof(struct vkf_dropout_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
    .usual = {{VKF_DROPOUT_SPEC_HAS_RESIDUAL, 1}},
};

// The emitters of optimisers, with one dispatch per slice of a tensor, and their operators' rows.
#include "op/optimiser.h"

#include <assert.h>
#include <math.h>

#include "op/flat.h"
#include "op/operators.h"
#include "op/slices.h"
#include "shared/adam.h"
#include "shared/sgd.h"

#define SLICE_OF(span) vkf__span_part(&(span), slice->begin, slice->most)

static vkf_status emit_adam_slice(vkf__work *work, const vkf__adam_args *args, const vkf__slice *slice)
{
    const double corrected = 1 - pow(args->beta1, args->step), spread = 1 - pow(args->beta2, args->step);
    const struct vkf_adam_params params = {
        .count = slice->count,
        .penalty = args->decoupled ? 0.0f : (float)args->weight_decay,
        .decay = args->decoupled ? (float)(args->rate * args->weight_decay) : 0.0f,
        .beta1 = (float)args->beta1,
        .rest1 = (float)(1 - args->beta1),
        .beta2 = (float)args->beta2,
        .rest2 = (float)(1 - args->beta2),
        .rate = (float)(args->rate / corrected),
        .root = (float)(1 / sqrt(spread)),
        .eps = (float)args->eps,
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_ADAM,
        .types = {args->parameter.dtype},
        .bindings = {{SLICE_OF(args->parameter), true},
                     {SLICE_OF(args->gradient), true},
                     {vkf__span_part(&args->moments, 2 * (uint64_t)slice->begin, 2 * (uint64_t)slice->most), true},
                     {args->factor, false}},
        .params = &params,
        .count = {slice->count},
        .factors = 1,
    };
    return vkf__emit_flat(work, &flat);
}

vkf_status vkf__emit_adam(vkf__work *work, const vkf__adam_args *args)
{
    vkf__slices slices;
    assert(args->step > 0);
    VKF_RETURN_IF_ERROR(vkf__slices_begin(work, args->count, 2 * sizeof(float), 1, &slices));
    for (vkf__slice slice; vkf__slices_next(&slices, &slice);)
        VKF_RETURN_IF_ERROR(emit_adam_slice(work, args, &slice));
    return VKF_OK;
}

static vkf_status emit_sgd_slice(vkf__work *work, const vkf__sgd_args *args, const vkf__slice *slice)
{
    const bool has_momentum = vkf__present(&args->momentum_buffer);
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_SGD_SPEC_HAS_MOMENTUM] = has_momentum};
    const struct vkf_sgd_params params = {
        .count = slice->count,
        .rate = args->rate,
        .penalty = args->weight_decay,
        .momentum = args->momentum,
        .nesterov = args->nesterov,
    };
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_SGD,
        .types = {args->parameter.dtype},
        .bindings = {{SLICE_OF(args->parameter), true},
                     {SLICE_OF(args->gradient), true},
                     {has_momentum ? SLICE_OF(args->momentum_buffer) : args->momentum_buffer, true},
                     {args->factor, false}},
        .flags = flags,
        .params = &params,
        .count = {slice->count},
        .factors = 1,
    };
    return vkf__emit_flat(work, &flat);
}

vkf_status vkf__emit_sgd(vkf__work *work, const vkf__sgd_args *args)
{
    vkf__slices slices;
    VKF_RETURN_IF_ERROR(vkf__slices_begin(work, args->count, sizeof(float), 1, &slices));
    for (vkf__slice slice; vkf__slices_next(&slices, &slice);)
        VKF_RETURN_IF_ERROR(emit_sgd_slice(work, args, &slice));
    return VKF_OK;
}

// Parameter, gradient and two moments are read and written.
static vkf__account adam_account(const vkf__dispatched *dispatched)
{
    const struct vkf_adam_params *p = dispatched->params;
    return (vkf__account){18.0 * p->count, 16.0 * p->count, 16.0 * p->count};
}

static bool adam_output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_adam_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_ADAM_BINDING_PARAMETER, VKF_DTYPE_F32, p->count);
    return true;
}

static vkf__account sgd_account(const vkf__dispatched *dispatched)
{
    const struct vkf_sgd_params *p = dispatched->params;
    const double kept = dispatched->spec[VKF_SGD_SPEC_HAS_MOMENTUM] != 0 ? 1 : 0;
    return (vkf__account){(5 + 2 * kept) * p->count, (8 + 4 * kept) * p->count, (8 + 4 * kept) * p->count};
}

static bool sgd_output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_sgd_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_SGD_BINDING_PARAMETER, VKF_DTYPE_F32, p->count);
    return true;
}

static const vkf__typical_problem problems[] = {{.label = "any", .problem = {.m = 1u << 16}}};

const vkf__op_info vkf__op_adam = {
    .params_bytes = sizeof(struct vkf_adam_params),
    .account = adam_account,
    .output = adam_output,
    VKF_OP_PROBLEMS(problems),
};

const vkf__op_info vkf__op_sgd = {
    .params_bytes = sizeof(struct vkf_sgd_params),
    .account = sgd_account,
    .output = sgd_output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_SGD_SPEC_HAS_MOMENTUM, 1}},
};

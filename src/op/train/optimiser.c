// The emitters of optimisers, with one dispatch per slice of a tensor, and their operators' rows.
#include "op/train/optimiser.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "op/train/slices.h"
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

static vkf_status adam_emit(vkf__work *work, const void *args)
{
    return vkf__emit_adam(work, args);
}

static vkf_status adam_reference(const vkf__execution *e)
{
    const struct vkf_adam_params *p = e->params;
    const double factor = vkf__load(e, VKF_ADAM_BINDING_FACTOR, 0);
    for (uint64_t i = 0; i < p->count; i++) {
        const double w = vkf__load(e, VKF_ADAM_BINDING_PARAMETER, i),
                     first = vkf__load(e, VKF_ADAM_BINDING_MOMENTS, 2 * i),
                     second = vkf__load(e, VKF_ADAM_BINDING_MOMENTS, 2 * i + 1);
        const double g = factor * vkf__load(e, VKF_ADAM_BINDING_GRADIENT, i) + (double)p->penalty * w;
        const double m = (double)p->beta1 * first + (double)p->rest1 * g;
        const double v = (double)p->beta2 * second + (double)p->rest2 * g * g;
        vkf__store(e, VKF_ADAM_BINDING_GRADIENT, i, 0);
        if (factor == 0)
            continue;
        vkf__store(e, VKF_ADAM_BINDING_MOMENTS, 2 * i, m);
        vkf__store(e, VKF_ADAM_BINDING_MOMENTS, 2 * i + 1, v);
        vkf__store(e, VKF_ADAM_BINDING_PARAMETER, i,
                   w - (double)p->decay * w - (double)p->rate * m / (sqrt(v) * (double)p->root + (double)p->eps));
    }
    return VKF_OK;
}

// Drawn factors may be 0, which skips the step whatever the gradient is, and so large that second moments are told
// apart to their last digits.
static float step_factor(vkf__cases *c)
{
    static const float factors[] = {0.5f, 0, 64};
    return factors[vkf__case_pick(c, 0, sizeof factors / sizeof factors[0])];
}

static vkf__span gradient_of(vkf__cases *c, uint32_t count, float factor)
{
    const vkf__span span = vkf__case_floats(c, VKF_DTYPE_F32, count);
    if (factor == 0)
        memset(vkf__case_bytes(c, &span), 0xff, span.size_bytes);
    return span;
}

static vkf_status run_adam(vkf__cases *c, bool decoupled)
{
    // Decays by which sums that should be 0 are 0.
    static const double settings[][5] = {{0.125, 0.75, 0.5, 0.25, 0.5}, {0.01, 0.9, 0.999, 1e-8, 0.125}}, *s;
    const uint32_t count = vkf__case_size(c, 259, 9000), step = vkf__case_size(c, 3, 2000);
    const float factor = step_factor(c);
    s = settings[vkf__case_pick(c, 0, 2)];
    const vkf__adam_args args = {
        .label = "adam",
        .parameter = vkf__case_floats(c, VKF_DTYPE_F32, count),
        .gradient = gradient_of(c, count, factor),
        .moments = vkf__case_floats(c, VKF_DTYPE_F32, 2 * (uint64_t)count),
        .factor = vkf__case_values(c, VKF_DTYPE_F32, &factor, 1),
        .count = count,
        .step = step,
        .rate = s[0],
        .beta1 = s[1],
        .beta2 = s[2],
        .eps = s[3],
        .weight_decay = s[4],
        .decoupled = vkf__case_flip(c, decoupled),
    };
    float *moments = vkf__case_bytes(c, &args.moments);
    for (uint64_t i = 0; i < count; i++)
        moments[2 * i + 1] = moments[2 * i] * moments[2 * i];
    return vkf__case_run(c, &args, factor == 0 ? 0 : 2e-6, "%u by %g, step %u%s", count, (double)factor, step,
                         args.decoupled ? ", decoupled" : "");
}

static vkf_status adam_cases(vkf__cases *c)
{
    VKF_RETURN_IF_ERROR(run_adam(c, false));
    return run_adam(c, true);
}

static vkf_status sgd_emit(vkf__work *work, const void *args)
{
    return vkf__emit_sgd(work, args);
}

static vkf_status sgd_reference(const vkf__execution *e)
{
    const struct vkf_sgd_params *p = e->params;
    const double factor = vkf__load(e, VKF_SGD_BINDING_FACTOR, 0), momentum = (double)p->momentum;
    const bool kept = e->spec[VKF_SGD_SPEC_HAS_MOMENTUM] != 0;
    for (uint64_t i = 0; i < p->count; i++) {
        const double w = vkf__load(e, VKF_SGD_BINDING_PARAMETER, i);
        const double g = factor * vkf__load(e, VKF_SGD_BINDING_GRADIENT, i) + (double)p->penalty * w;
        const double b = kept ? momentum * vkf__load(e, VKF_SGD_BINDING_MOMENTUM, i) + g : g;
        vkf__store(e, VKF_SGD_BINDING_GRADIENT, i, 0);
        if (factor == 0)
            continue;
        if (kept)
            vkf__store(e, VKF_SGD_BINDING_MOMENTUM, i, b);
        vkf__store(e, VKF_SGD_BINDING_PARAMETER, i, w - (double)p->rate * (kept && p->nesterov ? g + momentum * b : b));
    }
    return VKF_OK;
}

static vkf_status run_sgd(vkf__cases *c, bool kept)
{
    const uint32_t count = vkf__case_size(c, 259, 9000);
    const bool momentum = vkf__case_constant(c, VKF_SGD_SPEC_HAS_MOMENTUM, vkf__case_flip(c, kept));
    const float factor = step_factor(c);
    const vkf__sgd_args args = {
        .label = "sgd",
        .parameter = vkf__case_floats(c, VKF_DTYPE_F32, count),
        .gradient = gradient_of(c, count, factor),
        .momentum_buffer = vkf__case_floats(c, VKF_DTYPE_F32, momentum ? count : 0),
        .factor = vkf__case_values(c, VKF_DTYPE_F32, &factor, 1),
        .count = count,
        .rate = 0.125f,
        .momentum = vkf__case_factor(c, 0.75f),
        .weight_decay = vkf__case_factor(c, 0.5f),
        .nesterov = vkf__case_flip(c, true),
    };
    return vkf__case_run(c, &args, factor == 0 ? 0 : 1e-6, "%u by %g%s%s", count, (double)factor,
                         momentum ? " with momentum" : "", args.nesterov ? ", Nesterov's" : "");
}

static vkf_status sgd_cases(vkf__cases *c)
{
    VKF_RETURN_IF_ERROR(run_sgd(c, false));
    return run_sgd(c, true);
}

const vkf__op_info vkf__op_adam = {
    .params_bytes = sizeof(struct vkf_adam_params),
    .account = adam_account,
    .output = adam_output,
    .emit = adam_emit,
    .reference = adam_reference,
    .cases = adam_cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
};

const vkf__op_info vkf__op_sgd = {
    .params_bytes = sizeof(struct vkf_sgd_params),
    .account = sgd_account,
    .output = sgd_output,
    .emit = sgd_emit,
    .reference = sgd_reference,
    .cases = sgd_cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
    .usual = {{VKF_SGD_SPEC_HAS_MOMENTUM, 1}},
};

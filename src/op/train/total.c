// The emitter of sums over whole tensors, by way of the sums of their parts, and its operator's row.
#include "op/train/total.h"

#include "base/size.h"
#include "op/cases.h"
#include "op/execution.h"
#include "op/operators.h"
#include "op/train/slices.h"
#include "shared/total.h"

typedef struct sum_pass {
    vkf__span x, out;
    bool squares;
    struct vkf_total_params params;
} sum_pass;

static vkf_status emit_pass(vkf__work *work, const char *label, const sum_pass *pass)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {pass->x.dtype};
    const vkf__problem problem = {.m = pass->params.parts, .n = pass->params.part};
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_TOTAL_SPEC_SQUARES] = pass->squares};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_TOTAL, types, &problem, &variant));
    vkf__dispatch dispatch = {
        .label = label,
        .variant = variant,
        .flags = flags,
        .bindings = {{pass->x, false}, {pass->out, true}},
        .params = &pass->params,
    };
    vkf__grid_flat(work, pass->params.parts, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

// The whole of x as one part.
static vkf_status emit_last(vkf__work *work, const vkf__total_args *args, const vkf__span *x, uint32_t count,
                            bool squares)
{
    const sum_pass last = {
        .x = *x,
        .out = args->out,
        .squares = squares,
        .params = {.count = count,
                   .part = count,
                   .parts = count > 0,
                   .factor = args->factor,
                   .beta = args->accumulate ? 1.0f : 0.0f},
    };
    return emit_pass(work, args->label, &last);
}

// The sums of the parts of elements [begin, begin + count); a slice begins where a part does.
static vkf_status emit_parts(vkf__work *work, const vkf__total_args *args, const vkf__slice *slice,
                             const vkf__span *sums)
{
    const uint32_t part = VKF_TOTAL_PART;
    const sum_pass first = {
        .x = vkf__span_part(&args->x, slice->begin, slice->most),
        .out = vkf__span_part(sums, slice->begin / part, vkf__div_up_u32(slice->most, part)),
        .squares = args->squares,
        .params = {.count = slice->count, .part = part, .parts = vkf__div_up_u32(slice->count, part), .factor = 1.0f},
    };
    return emit_pass(work, args->label, &first);
}

vkf_status vkf__emit_total(vkf__work *work, const vkf__total_args *args)
{
    vkf__slices slices;
    vkf__span sums;
    VKF_RETURN_IF_ERROR(vkf__slices_begin(work, args->count, sizeof(float), VKF_TOTAL_PART, &slices));
    if (slices.most <= VKF_TOTAL_PART)
        return emit_last(work, args, &args->x, args->count, args->squares);
    VKF_RETURN_IF_ERROR(vkf__work_temp(work, VKF_DTYPE_F32, vkf__div_up_u32(slices.most, VKF_TOTAL_PART), &sums));
    for (vkf__slice slice; vkf__slices_next(&slices, &slice);)
        VKF_RETURN_IF_ERROR(emit_parts(work, args, &slice, &sums));
    return emit_last(work, args, &sums, vkf__div_up_u32(args->count, VKF_TOTAL_PART), false);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_total_params *p = dispatched->params;
    const double each = dispatched->spec[VKF_TOTAL_SPEC_SQUARES] != 0 ? 2 : 1;
    return (vkf__account){each * p->count, 4.0 * p->count, 4.0 * p->parts};
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_total_params *p = dispatched->params;
    *out_extent = vkf__extent_flat(VKF_TOTAL_BINDING_OUT, VKF_DTYPE_F32, p->parts);
    return true;
}

static const vkf__typical_problem problems[] = {
    {.label = "one part", .problem = {.m = 1, .n = 512}},
    {.label = "parts", .problem = {.m = 256, .n = VKF_TOTAL_PART}},
};

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_total(work, args);
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_total_params *p = e->params;
    for (uint64_t part = 0; part < p->parts; part++) {
        double sum = 0;
        for (uint64_t at = part * p->part; at < (part + 1) * p->part && at < p->count; at++) {
            const double x = vkf__load(e, VKF_TOTAL_BINDING_X, at);
            sum += e->spec[VKF_TOTAL_SPEC_SQUARES] ? x * x : x;
        }
        sum *= (double)p->factor;
        if (p->beta != 0)
            sum += (double)p->beta * vkf__load(e, VKF_TOTAL_BINDING_OUT, part);
        vkf__store(e, VKF_TOTAL_BINDING_OUT, part, sum);
    }
    return VKF_OK;
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge, bool squares)
{
    vkf__total_args args = {
        .label = "total",
        .count = vkf__case_size(c, edge, 5 * VKF_TOTAL_PART),
        .squares = vkf__case_constant(c, VKF_TOTAL_SPEC_SQUARES, vkf__case_flip(c, squares)),
        .accumulate = vkf__case_flip(c, true),
        .factor = vkf__case_factor(c, 0.5f),
    };
    args.x = vkf__case_floats(c, VKF_DTYPE_F32, args.count);
    args.out = vkf__case_floats(c, VKF_DTYPE_F32, 1);
    if (!args.accumulate)
        vkf__case_blank(c, &args.out);
    vkf__case_extremes(c, &args.x);
    // Multiples of 1/16 up to 2^18 are exact in float32, but not beside the squares of extremes.
    return vkf__case_run(c, &args, c->draw ? 1e-6 : 0, "%s%u elements%s", args.squares ? "squares of " : "", args.count,
                         args.accumulate ? ", added" : "");
}

static vkf_status cases(vkf__cases *c)
{
    const uint32_t size = c->variant->config->local_size;
    const uint32_t counts[] = {1, 13, size - 1, size + 1, 8 * size + 1, VKF_TOTAL_PART, VKF_TOTAL_PART + 1};
    for (size_t i = 0; i < 2 * sizeof counts / sizeof counts[0]; i++)
        VKF_RETURN_IF_ERROR(cases_of(c, counts[i / 2], i % 2 == 0));
    return VKF_OK;
}

const vkf__op_info vkf__op_total = {
    .params_bytes = sizeof(struct vkf_total_params),
    .account = account,
    .output = output,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(problems),
};

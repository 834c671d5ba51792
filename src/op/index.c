// The emitter of gathering and scattering by an index, and its operator's row.
#include "op/index.h"

#include <math.h>
#include <string.h>

#include "op/cases.h"
#include "op/execution.h"
#include "op/flat.h"
#include "op/operators.h"
#include "shared/index.h"

// Of one dispatch with a reduction: loops of lavapipe end after 65,535 iterations.
#define MOST_STEPS 32768u

_Static_assert(VKF_INDEX_SCATTER == (int)VKF_REDUCTION_NONE && VKF_INDEX_SCATTER_ADD == (int)VKF_REDUCTION_ADD &&
                   VKF_INDEX_SCATTER_MULTIPLY == (int)VKF_REDUCTION_MULTIPLY &&
                   VKF_INDEX_SCATTER_MAX == (int)VKF_REDUCTION_MAX && VKF_INDEX_SCATTER_MIN == (int)VKF_REDUCTION_MIN &&
                   VKF_INDEX_GATHER == (int)VKF_REDUCTION_COUNT,
               "the shader takes the values of vkf_reduction");

// The strides of a tensor in rows. Sizes of 1 are repeated.
static void strides_of(const uint32_t *shape, uint32_t *out_strides)
{
    uint32_t stride = 1;
    for (uint32_t i = VKF_INDEX_RANK; i-- > 0;) {
        out_strides[i] = shape[i] > 1 ? stride : 0;
        stride *= shape[i];
    }
}

// Everything but what differs between the dispatches of one scattering. `sizes` are those of the invocations.
static struct vkf_index_params params_of(const vkf__index_args *args, const uint32_t *sizes)
{
    uint32_t moved[VKF_INDEX_RANK], index[VKF_INDEX_RANK], wide[VKF_INDEX_RANK], wide_shape[VKF_INDEX_RANK];
    memcpy(wide_shape, args->shape, sizeof wide_shape);
    wide_shape[args->dim] = args->len;
    strides_of(args->shape, moved);
    strides_of(args->index_shape, index);
    strides_of(wide_shape, wide);
    const uint32_t wide_step = wide[args->dim];
    wide[args->dim] = 0;
    return (struct vkf_index_params){
        .n1 = sizes[1],
        .n2 = sizes[2],
        .n3 = sizes[3],
        .len = args->len,
        .moved_0 = moved[0],
        .moved_1 = moved[1],
        .moved_2 = moved[2],
        .moved_3 = moved[3],
        .moved_step = moved[args->dim],
        .index_0 = index[0],
        .index_1 = index[1],
        .index_2 = index[2],
        .index_3 = index[3],
        .index_step = index[args->dim],
        .wide_0 = wide[0],
        .wide_1 = wide[1],
        .wide_2 = wide[2],
        .wide_3 = wide[3],
        .wide_step = wide_step,
    };
}

static vkf_status emit_steps(vkf__work *work, const vkf__index_args *args, const uint32_t *sizes, uint32_t first,
                             uint32_t steps)
{
    const uint32_t mode = args->gather ? VKF_INDEX_GATHER : (uint32_t)args->reduction;
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {[VKF_INDEX_SPEC_MODE] = mode};
    struct vkf_index_params params = params_of(args, sizes);
    params.steps = steps;
    params.moved_first = first * params.moved_step;
    params.index_first = first * params.index_step;
    const vkf__flat_args flat = {
        .label = args->label,
        .op = VKF_OP_INDEX,
        .types = {args->x.dtype},
        .bindings = {{args->index, false}, {args->x, false}, {args->out, true}},
        .flags = flags,
        .params = &params,
        .count = {sizes[0], sizes[1], sizes[2], sizes[3]},
        .factors = 4,
        .out_count = &params.count,
    };
    return vkf__emit_flat(work, &flat);
}

// Elements that lie along the dimension may have one place. Those that are reduced have one invocation then, and so
// have halves in words, which are stored in two steps.
vkf_status vkf__emit_index(vkf__work *work, const vkf__index_args *args)
{
    const bool in_steps = args->out.dtype == VKF_DTYPE_F16 && !work->context->device.plan.caps.storage_16bit;
    if (args->gather || (args->reduction == VKF_REDUCTION_NONE && !in_steps))
        return emit_steps(work, args, args->shape, 0, 1);
    const uint32_t all = args->shape[args->dim];
    uint32_t sizes[VKF_INDEX_RANK];
    memcpy(sizes, args->shape, sizeof sizes);
    sizes[args->dim] = 1;
    for (uint32_t first = 0; first < all; first += MOST_STEPS)
        VKF_RETURN_IF_ERROR(emit_steps(work, args, sizes, first, all - first < MOST_STEPS ? all - first : MOST_STEPS));
    return VKF_OK;
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_index_params *p = dispatched->params;
    const uint32_t mode = dispatched->spec[VKF_INDEX_SPEC_MODE];
    const bool reduced = mode != VKF_INDEX_GATHER && mode != VKF_INDEX_SCATTER;
    const vkf_dtype x = dispatched->kernel->types[0];
    vkf__account moved = vkf__account_elementwise((double)p->count * p->steps, reduced, x, x);
    if (reduced)
        moved.bytes_read *= 2;
    return moved;
}

static vkf_status emit(vkf__work *work, const void *args)
{
    return vkf__emit_index(work, args);
}

static double reduced(uint32_t mode, double before, double value)
{
    switch (mode) {
    case VKF_INDEX_SCATTER_ADD:
        return before + value;
    case VKF_INDEX_SCATTER_MULTIPLY:
        return before * value;
    case VKF_INDEX_SCATTER_MAX:
        return isnan(before) || isnan(value) ? NAN : fmax(before, value);
    case VKF_INDEX_SCATTER_MIN:
        return isnan(before) || isnan(value) ? NAN : fmin(before, value);
    default:
        return value;
    }
}

static void move(const vkf__execution *e, uint64_t moved, int64_t to, uint64_t wide)
{
    const struct vkf_index_params *p = e->params;
    const uint32_t mode = e->spec[VKF_INDEX_SPEC_MODE];
    to += to < 0 ? p->len : 0;
    const bool inside = to >= 0 && to < p->len;
    const uint64_t place = inside ? wide + (uint64_t)to * p->wide_step : 0;
    if (mode == VKF_INDEX_GATHER)
        vkf__store(e, VKF_INDEX_BINDING_OUT, moved, inside ? vkf__load(e, VKF_INDEX_BINDING_X, place) : 0);
    else if (inside)
        vkf__store(e, VKF_INDEX_BINDING_OUT, place,
                   reduced(mode, vkf__load(e, VKF_INDEX_BINDING_OUT, place), vkf__load(e, VKF_INDEX_BINDING_X, moved)));
}

static vkf_status reference(const vkf__execution *e)
{
    const struct vkf_index_params *p = e->params;
    for (uint64_t i = 0; i < p->count; i++) {
        const uint64_t c[] = {i / p->n3 / p->n2 / p->n1, i / p->n3 / p->n2 % p->n1, i / p->n3 % p->n2, i % p->n3};
        uint64_t moved = p->moved_first + c[0] * p->moved_0 + c[1] * p->moved_1 + c[2] * p->moved_2 + c[3] * p->moved_3;
        uint64_t at = p->index_first + c[0] * p->index_0 + c[1] * p->index_1 + c[2] * p->index_2 + c[3] * p->index_3;
        const uint64_t wide = c[0] * p->wide_0 + c[1] * p->wide_1 + c[2] * p->wide_2 + c[3] * p->wide_3;
        for (uint32_t step = 0; step < p->steps; step++, moved += p->moved_step, at += p->index_step)
            move(e, moved, (int32_t)vkf__load_word(e, VKF_INDEX_BINDING_INDEX, at), wide);
    }
    return VKF_OK;
}

// Indices that differ along the dimension, so that no two elements have one place, begin anywhere in each other row,
// count from the end now and then, and are outside now and then.
static void fill_index(vkf__cases *c, const vkf__index_args *args)
{
    int32_t *index = vkf__case_bytes(c, &args->index);
    uint64_t inner = 1;
    for (uint32_t i = args->dim + 1; i < VKF_INDEX_RANK; i++)
        inner *= args->index_shape[i];
    const uint64_t count =
        (uint64_t)args->index_shape[0] * args->index_shape[1] * args->index_shape[2] * args->index_shape[3];
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t step = i / inner % args->index_shape[args->dim];
        const uint64_t row = i % inner + i / inner / args->index_shape[args->dim] * inner;
        const int32_t to = (int32_t)((step + 3 * row) % args->len), len = (int32_t)args->len;
        const uint32_t how = vkf__case_pick(c, (uint32_t)(i % 4), 8);
        index[i] = how == 0 ? to - len : how == 1 ? to - 2 * len : how == 2 ? to + len : to;
    }
}

static vkf_status cases_of(vkf__cases *c, uint32_t edge_mode)
{
    const vkf_dtype type = c->variant->kernel->types[0];
    const uint32_t mode = vkf__case_constant(c, VKF_INDEX_SPEC_MODE, vkf__case_pick(c, edge_mode, VKF_INDEX_MODES));
    vkf__index_args args = {
        .label = "index",
        .shape = {vkf__case_size(c, 2, 3), vkf__case_size(c, 3, 9), vkf__case_size(c, 5, 9), vkf__case_size(c, 7, 70)},
        .dim = vkf__case_pick(c, 2, VKF_INDEX_RANK),
        .gather = mode == VKF_INDEX_GATHER,
    };
    uint64_t count = 1, index_count = 1;
    if (!args.gather)
        args.reduction = (vkf_reduction)mode;
    args.len = args.shape[args.dim] + vkf__case_pick(c, 2, 4);
    for (uint32_t i = 0; i < VKF_INDEX_RANK; i++) {
        const bool whole = i == args.dim || vkf__case_flip(c, i != 1);
        args.index_shape[i] = whole ? args.shape[i] : 1;
        index_count *= args.index_shape[i];
        count *= args.shape[i];
    }
    const uint64_t wide = count / args.shape[args.dim] * args.len;
    args.index = vkf__case_ints(c, 0, 1, index_count);
    args.x = vkf__case_floats(c, type, args.gather ? wide : count);
    args.out = vkf__case_floats(c, type, args.gather ? count : wide);
    fill_index(c, &args);
    vkf__case_extremes(c, &args.x);
    return vkf__case_run(c, &args, vkf__case_exact(type), "(%u, %u, %u, %u) of %u along %u, mode %u", args.shape[0],
                         args.shape[1], args.shape[2], args.shape[3], args.len, args.dim, mode);
}

static vkf_status cases(vkf__cases *c)
{
    for (uint32_t mode = 0; mode < VKF_INDEX_MODES; mode++)
        VKF_RETURN_IF_ERROR(cases_of(c, mode));
    return VKF_OK;
}

// What is scattered lies beside what stays, so that there is no `output`.
const vkf__op_info vkf__op_index = {
    .params_bytes = sizeof(struct vkf_index_params),
    .account = account,
    .emit = emit,
    .reference = reference,
    .cases = cases,
    VKF_OP_PROBLEMS(vkf__typical_any),
};

// The emitter of rotary position embedding, and its operator's row.
#include "op/rotary.h"

#include <assert.h>

#include "base/size.h"
#include "op/operators.h"
#include "op/rows.h"
#include "shared/rotary.h"

static uint32_t weight_flag(const vkf__span *weight)
{
    if (!vkf__present(weight))
        return VKF_ROTARY_WEIGHT_NONE;
    return weight->dtype == VKF_DTYPE_F16    ? VKF_ROTARY_WEIGHT_F16
           : weight->dtype == VKF_DTYPE_BF16 ? VKF_ROTARY_WEIGHT_BF16
                                             : VKF_ROTARY_WEIGHT_F32;
}

vkf_status vkf__emit_rotary(vkf__work *work, const vkf__rotary_args *args)
{
    vkf__variant variant;
    uint64_t rows = 0;
    const uint32_t heads = args->q_heads + args->k_heads + args->v_heads;
    assert(!args->inverse || !vkf__present(&args->weight));
    assert(args->rotary_dim % 2 == 0 && args->rotary_dim <= args->head_dim);
    if (!vkf__product_u64((const uint64_t[]){args->batch, args->len, heads}, 3, &rows) || rows > UINT32_MAX)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 rows", work->name,
                         args->label);
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype,
                                                   vkf__present(&args->out) ? args->out.dtype : args->x.dtype};
    const vkf__problem problem = {.m = (uint32_t)rows, .n = args->head_dim};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_ROTARY, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ROTARY_SPEC_WEIGHT] = weight_flag(&args->weight),
        [VKF_ROTARY_SPEC_HAS_TABLE] = vkf__present(&args->table),
    };
    struct vkf_rotary_params params = {
        .rows = (uint32_t)rows,
        .len = args->len,
        .heads = heads,
        .q_heads = args->q_heads,
        .k_heads = args->k_heads,
        .head_dim = args->head_dim,
        .rotary_dim = args->rotary_dim,
        .first_position = args->first_position,
        .x_first = args->x_first,
        .x_batch = args->x_batch,
        .x_row = args->x_row,
        .k_first = args->k_first,
        .v_first = args->v_first,
        .out_batch = args->out_batch,
        .out_row = args->out_row,
        .k_weight = args->k_weight,
        .eps = args->eps,
        .sine_factor = args->inverse ? -1.0f : 1.0f,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        // Without queries nothing is written to x, but validation layers go by what the kernel might do.
        .bindings = {{args->x, true}, {args->out, true}, {args->table, false}, {args->weight, false}},
        .params = &params,
    };
    vkf__grid_rows(work, &variant, rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_rotary_params *p = dispatched->params;
    const vkf_dtype *types = dispatched->kernel->types;
    return vkf__account_elementwise((double)p->rows * p->head_dim, 3, types[0], types[1]);
}

// The queries or, without any, the keys.
static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_rotary_params *p = dispatched->params;
    const uint32_t plane = p->len * p->heads, batch = plane > 0 ? p->rows / plane : 0;
    const bool queries = p->q_heads > 0;
    *out_extent = (vkf__extent){
        .operand = (queries ? VKF_ROTARY_BINDING_X : VKF_ROTARY_BINDING_OUT) - 1,
        .dtype = dispatched->kernel->types[queries ? 0 : 1],
        .first = queries ? p->x_first : p->k_first,
        .counts = {batch, p->len, queries ? p->q_heads : p->k_heads, p->head_dim},
        .strides = {queries ? p->x_batch : p->out_batch, queries ? p->x_row : p->out_row, p->head_dim, 1},
    };
    return true;
}

// No pipeline is made ahead, because only a layer tells whether heads are normalised and rotated.
static const vkf__typical_problem problems[] = {
    {.label = "heads of 64", .problem = {.m = 512, .n = 64}},
    {.label = "128", .problem = {.m = 512, .n = 128}},
};

const vkf__op_info vkf__op_rotary = {
    .params_bytes = sizeof(struct vkf_rotary_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
    .usual = {{VKF_ROTARY_SPEC_HAS_TABLE, 1}},
};

// The emitter of masked softmax, and its operator's row.
#include "op/softmax.h"

#include "op/operators.h"
#include "op/rows.h"
#include "shared/softmax.h"

_Static_assert(VKF_SHADER_MASK_LENGTHS == (int)VKF_MASK_LENGTHS, "mask kinds differ between C and GLSL");
_Static_assert(VKF_SHADER_MASK_BOOL_EXCLUDE == (int)VKF_MASK_BOOL_EXCLUDE, "mask kinds differ between C and GLSL");
_Static_assert(VKF_SHADER_MASK_BOOL_ATTEND == (int)VKF_MASK_BOOL_ATTEND, "mask kinds differ between C and GLSL");
_Static_assert(VKF_SHADER_MASK_ADDITIVE == (int)VKF_MASK_ADDITIVE, "mask kinds differ between C and GLSL");
_Static_assert(VKF_SHADER_FULLY_MASKED_NAN == (int)VKF_FULLY_MASKED_NAN, "rules differ between C and GLSL");
_Static_assert(VKF_SHADER_FULLY_MASKED_UNIFORM == (int)VKF_FULLY_MASKED_UNIFORM, "rules differ between C and GLSL");

vkf_dtype vkf__mask_dtype(vkf_mask_kind kind)
{
    return kind == VKF_MASK_ADDITIVE ? VKF_DTYPE_F32 : kind == VKF_MASK_LENGTHS ? VKF_DTYPE_I32 : VKF_DTYPE_BOOL;
}

vkf_status vkf__emit_softmax(vkf__work *work, const vkf__softmax_args *args)
{
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->x.dtype, args->out.dtype};
    uint64_t rows = (uint64_t)args->batch * args->heads * args->q_len;
    if (rows > UINT32_MAX)
        return vkf__fail(work->context->device.host, VKF_ERROR_TOO_LARGE, "%s.%s: more than 2^32 rows", work->name,
                         args->label);
    const vkf__problem problem = {.m = (uint32_t)rows, .n = args->k_len};
    VKF_RETURN_IF_ERROR(vkf__work_select(work, VKF_OP_SOFTMAX, types, &problem, &variant));
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_SOFTMAX_SPEC_MASK_KIND] = (uint32_t)args->mask_kind,
        [VKF_SOFTMAX_SPEC_KEY_MASK_KIND] = (uint32_t)args->key_mask_kind,
        [VKF_SOFTMAX_SPEC_CAUSAL] = args->causal,
        [VKF_SOFTMAX_SPEC_WINDOW] = args->window > 0,
        [VKF_SOFTMAX_SPEC_FULLY_MASKED] = (uint32_t)args->fully_masked,
    };
    struct vkf_softmax_params params = {
        .heads = args->heads,
        .q_len = args->q_len,
        .rows = (uint32_t)rows,
        .k_len = args->k_len,
        .mask_cols = args->mask_cols,
        .mask_batch = args->mask_batch,
        .mask_head = args->mask_head,
        .mask_row = args->mask_row,
        .key_mask_batch = args->key_mask_batch,
        .causal_offset = args->causal_offset,
        .window = args->window,
        .scale = args->scale,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = variant,
        .flags = flags,
        .bindings = {{args->x, false}, {args->out, true}, {args->mask, false}, {args->key_mask, false}},
        .params = &params,
    };
    vkf__grid_rows(work, &variant, rows, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf__account account(const vkf__dispatched *dispatched)
{
    const struct vkf_softmax_params *p = dispatched->params;
    const vkf_dtype *types = dispatched->kernel->types;
    return vkf__account_elementwise((double)p->rows * p->k_len, 5, types[0], types[1]);
}

static bool output(const vkf__dispatched *dispatched, vkf__extent *out_extent)
{
    const struct vkf_softmax_params *p = dispatched->params;
    *out_extent = vkf__extent_rows(VKF_SOFTMAX_BINDING_OUT, dispatched->kernel->types[1], p->rows, p->k_len, p->k_len);
    return true;
}

static const vkf__typical_problem problems[] = {
    {.label = "32 columns", .problem = {.m = 512, .n = 32}, .ahead = true},
    {.problem = {.m = 512, .n = 256}, .ahead = true},
    {.label = "512", .problem = {.m = 512, .n = 512}},
    {.label = "4096", .problem = {.m = 512, .n = 4096}, .ahead = true},
};

const vkf__op_info vkf__op_softmax = {
    .params_bytes = sizeof(struct vkf_softmax_params),
    .account = account,
    .output = output,
    VKF_OP_PROBLEMS(problems),
};

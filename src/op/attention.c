#include "op/attention.h"

#include "base/size.h"
#include "shared/attention.h"

// With fewer rows than this to work on, the keys of a row are shared out among more workgroups. Processors have few
// cores to fill.
#define ROWS_TO_FILL_A_DEVICE 256u
#define ROWS_TO_FILL_A_PROCESSOR 32u
// The widest head that the kernels are made for: they unroll over it, and attention_tiled shares memory for no more.
#define MAX_WIDTH 256u
// Keys that make a part of their own worth the pass that puts parts together again.
#define MIN_KEYS_PER_SPLIT 128u

static uint64_t elements(const vkf__span *span)
{
    return span->size_bytes / vkf_dtype_size(span->dtype);
}

static bool has_quads(const vkf__heads_span *x, uint32_t width)
{
    uint64_t offset = x->span.offset_bytes / vkf_dtype_size(x->span.dtype);
    return offset % 4 == 0 && x->row_stride % 4 == 0 && x->head_stride % 4 == 0 && width % 4 == 0;
}

static vkf__problem problem_of(const vkf_context *context, const vkf__attention_args *args)
{
    uint64_t q = elements(&args->q.span), k = elements(&args->k.span), v = elements(&args->v.span);
    uint64_t largest = q > k ? q : k;
    return (vkf__problem){
        .m = args->q_len,
        .n = args->k_len,
        .k = args->head_dim > args->v_head_dim ? args->head_dim : args->v_head_dim,
        .allow_f16_math = vkf__context_allows_f16_math(context),
        .quads = has_quads(&args->q, args->head_dim) && has_quads(&args->k, args->head_dim) &&
                 has_quads(&args->v, args->v_head_dim),
        .largest = largest > v ? largest : v,
    };
}

static bool is_for_kernels(const vkf__attention_args *args)
{
    if (args->head_dim > MAX_WIDTH || args->v_head_dim > MAX_WIDTH)
        return false;
    const vkf__span *spans[] = {&args->q.span, &args->k.span, &args->v.span, &args->out.span};
    for (size_t i = 0; i < 4; i++) {
        if (elements(spans[i]) > UINT32_MAX)
            return false;
    }
    return args->heads % args->kv_heads == 0 && args->k.span.dtype == args->v.span.dtype;
}

// At maximum sizes. Shorter runs leave parts empty, which weigh nothing.
static uint32_t choose_splits(const vkf_context *context, const vkf__attention_args *args)
{
    bool processor = context->device.plan.caps.type == VKF_DEVICE_TYPE_CPU;
    uint32_t enough = processor ? ROWS_TO_FILL_A_PROCESSOR : ROWS_TO_FILL_A_DEVICE;
    uint64_t rows = (uint64_t)args->batch * args->heads * args->q_len;
    uint32_t by_keys = args->k_len / MIN_KEYS_PER_SPLIT;
    uint32_t by_rows = rows == 0 ? 1 : (uint32_t)((enough + rows - 1) / rows);
    uint32_t splits = by_keys < by_rows ? by_keys : by_rows;
    return splits > 0 ? splits : 1;
}

vkf__problem vkf__attention_problem(const vkf_context *context, const vkf__attention_args *args,
                                    vkf_dtype out_types[VKF_KERNEL_MAX_TYPES])
{
    vkf__problem problem = problem_of(context, args);
    problem.split = choose_splits(context, args) > 1;
    out_types[0] = args->q.span.dtype;
    out_types[1] = args->k.span.dtype;
    out_types[2] = problem.split ? VKF_DTYPE_F32 : args->out.span.dtype;
    return problem;
}

static bool is_served(const vkf__work *work, const vkf__attention_args *args)
{
    const vkf__selector selector = vkf__context_selector(work->context);
    vkf_dtype types[VKF_KERNEL_MAX_TYPES];
    const vkf__problem problem = vkf__attention_problem(work->context, args, types);
    return is_for_kernels(args) && vkf__select_rank(&selector, VKF_OP_ATTENTION, types, &problem) != UINT32_MAX;
}

// Whether a kernel of this device serves the problem, decided at maximum sizes.
static vkf_status fused_available(vkf__work *work, const vkf__attention_args *args, bool *out_available)
{
    uint64_t available = work->mode == VKF_WORK_PLAN && is_served(work, args);
    vkf_status status = vkf__work_decide(work, available, &available);
    *out_available = available != 0;
    return status;
}

static struct vkf_attention_params params_of(const vkf__attention_args *args, uint32_t splits)
{
    return (struct vkf_attention_params){
        .batch = args->batch,
        .heads = args->heads,
        .kv_heads = args->kv_heads,
        .q_len = args->q_len,
        .k_len = args->k_len,
        .splits = splits,
        .q_batch = args->q.batch_stride,
        .q_row = args->q.row_stride,
        .q_head = args->q.head_stride,
        .k_batch = args->k.batch_stride,
        .k_row = args->k.row_stride,
        .k_head = args->k.head_stride,
        .v_batch = args->v.batch_stride,
        .v_row = args->v.row_stride,
        .v_head = args->v.head_stride,
        .out_batch = args->out.batch_stride,
        .out_row = args->out.row_stride,
        .out_head = args->out.head_stride,
        .mask_cols = args->mask_cols,
        .mask_batch = args->mask_batch,
        .mask_head = args->mask_head,
        .mask_row = args->mask_row,
        .key_mask_batch = args->key_mask_batch,
        // Where every key is in sight, the parameters say so by themselves.
        .causal_offset = args->causal || args->window > 0 ? args->causal_offset : (int32_t)args->k_len,
        .window = args->window,
        .scale = args->scale,
    };
}

// Splits of the keys that one workgroup takes at once.
static uint32_t splits_per_group(const vkf__variant *variant)
{
    return variant->kernel->shares_rows ? variant->config->tile.attention.lanes : 1;
}

// Rows that one workgroup takes: of every invocation, or, on matrices, of every subgroup.
static uint32_t rows_per_group(const vkf__variant *variant)
{
    const vkf__config *config = variant->config;
    if (config->subgroups > 0)
        return config->tile.attention_coopmat.rows * config->subgroups;
    return config->tile.attention.queries * config->local_size / config->tile.attention.lanes;
}

static vkf_status emit_parts(vkf__work *work, const vkf__attention_args *args, const vkf__variant *variant,
                             const vkf__span *out, uint32_t splits)
{
    const struct vkf_attention_params params = params_of(args, splits);
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ATTENTION_SPEC_HEAD_DIM] = args->head_dim,
        [VKF_ATTENTION_SPEC_V_HEAD_DIM] = args->v_head_dim,
        [VKF_ATTENTION_SPEC_MASK_KIND] = (uint32_t)args->mask_kind,
        [VKF_ATTENTION_SPEC_KEY_MASK_KIND] = (uint32_t)args->key_mask_kind,
        [VKF_ATTENTION_SPEC_CAUSAL] = args->causal,
        [VKF_ATTENTION_SPEC_WINDOW] = args->window > 0,
        [VKF_ATTENTION_SPEC_FULLY_MASKED] = (uint32_t)args->fully_masked,
        [VKF_ATTENTION_SPEC_PARTIAL] = splits > 1,
        // Of kernels that read texels; those on matrices have another constant there, which is not taken from here.
        [VKF_ATTENTION_SPEC_TEXEL_WIDTH] = variant->kernel->operands[0] == VKF_OPERAND_TEXEL4 ? 4 : 1,
    };
    vkf__dispatch dispatch = {
        .label = args->label,
        .variant = *variant,
        .flags = flags,
        .bindings = {{args->q.span, false},
                     {args->k.span, false},
                     {args->v.span, false},
                     {*out, true},
                     {args->mask, false},
                     {args->key_mask, false}},
        .params = &params,
    };
    uint64_t rows = (uint64_t)args->q_len * (args->heads / args->kv_heads);
    uint64_t blocks = (rows + rows_per_group(variant) - 1) / rows_per_group(variant);
    uint64_t groups = blocks * args->kv_heads * args->batch * (splits / splits_per_group(variant));
    vkf__grid_flat(work, groups, dispatch.grid);
    return vkf__work_dispatch(work, &dispatch);
}

static vkf_status emit_reduce(vkf__work *work, const vkf__attention_args *args, const vkf__span *parts, uint32_t splits)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->out.span.dtype};
    const uint32_t rows = args->batch * args->heads * args->q_len;
    const vkf__problem problem = {.m = rows, .n = args->v_head_dim};
    const uint32_t flags[VKF_KERNEL_MAX_SPEC] = {
        [VKF_ATTENTION_REDUCE_SPEC_FULLY_MASKED] = (uint32_t)args->fully_masked,
    };
    const struct vkf_attention_reduce_params params = {
        .rows = rows,
        .heads = args->heads,
        .q_len = args->q_len,
        .k_len = args->k_len,
        .splits = splits,
        .v_head_dim = args->v_head_dim,
        .out_batch = args->out.batch_stride,
        .out_row = args->out.row_stride,
        .out_head = args->out.head_stride,
    };
    VKF_TRY(vkf__work_select(work, VKF_OP_ATTENTION_REDUCE, types, &problem, &variant));
    vkf__dispatch dispatch = {
        .label = "attention_reduce",
        .variant = variant,
        .flags = flags,
        .bindings = {{*parts, false}, {args->out.span, true}},
        .params = &params,
    };
    vkf__grid_flat(work, rows, dispatch.grid);
    VKF_TRY(vkf__work_dispatch(work, &dispatch));
fail:
    return status;
}

static vkf_status emit_fused(vkf__work *work, const vkf__attention_args *args)
{
    vkf_status status = VKF_OK;
    vkf__variant variant;
    vkf__span parts; // (batch, heads, q_len, splits, v_head_dim + 2) f32
    vkf__problem problem = problem_of(work->context, args);
    uint64_t splits = 0;
    VKF_TRY(vkf__work_decide(work, choose_splits(work->context, args), &splits));
    problem.split = splits > 1;
    // Parts are sums in f32, whatever the type of the output.
    const vkf_dtype out_type = splits > 1 ? VKF_DTYPE_F32 : args->out.span.dtype;
    const vkf_dtype types[VKF_KERNEL_MAX_TYPES] = {args->q.span.dtype, args->k.span.dtype, out_type};
    VKF_TRY(vkf__work_select(work, VKF_OP_ATTENTION, types, &problem, &variant));
    if (splits == 1)
        return emit_parts(work, args, &variant, &args->out.span, 1);
    splits = vkf__align_u64(splits, splits_per_group(&variant));
    const uint64_t factors[] = {args->batch, args->heads, args->q_len, splits, (uint64_t)args->v_head_dim + 2};
    uint64_t count = UINT64_MAX;
    (void)vkf__product_u64(factors, 5, &count);
    VKF_TRY(vkf__work_temp(work, VKF_DTYPE_F32, count, &parts));
    VKF_TRY(emit_parts(work, args, &variant, &parts, (uint32_t)splits));
    VKF_TRY(emit_reduce(work, args, &parts, (uint32_t)splits));
fail:
    return status;
}

vkf_status vkf__emit_attention(vkf__work *work, const vkf__attention_args *args)
{
    vkf_status status = VKF_OK;
    bool fused = !vkf__present(&args->weights);
    if (fused)
        VKF_TRY(fused_available(work, args, &fused));
    return fused ? emit_fused(work, args) : vkf__emit_unfused_attention(work, args);
fail:
    return status;
}
